import Foundation
import CurlHTTP
import HTTPExchange
import JOSE
import StrictJSON
import Synchronization
import Testing

@testable import LocalProvider

/// The transport of all tests, which reuses connections as a program does.
let transport = CurlTransport()

/// The signing key that the tests share, because its generation is slow.
private let sharedKey = Result { try JWK.generate(for: .rs256, keyID: "shared") }

/// The steps of a sign-in with the public client.
struct SignIn: Sendable {
    let provider: LoopbackProvider
    var clientID: String
    var redirectURI = "http://127.0.0.1:49152/callback"
    var verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    var parameters: [String: String]

    init(
        _ provider: LoopbackProvider, scope: String = "openid profile email offline_access User.Read User.ReadBasic.All"
    ) {
        self.provider = provider
        clientID = provider.clientID
        parameters = [
            "response_type": "code", "scope": scope, "state": "the state", "nonce": "the-nonce",
            "code_challenge_method": "S256",
            "code_challenge": Base64URL.encode(SHA2.sha256.digest(Array(verifier.utf8))),
        ]
    }

    /// Returns the authorization URL with these changes. An empty value omits a parameter.
    func url(_ changes: [String: String] = [:]) throws -> URL {
        var all = parameters
        all["client_id"] = clientID
        all["redirect_uri"] = redirectURI
        all.merge(changes) { $1 }
        var fields = FormFields()
        for (name, value) in all.sorted(by: { $0.key < $1.key }) where !value.isEmpty { fields.append(name, value) }
        return try #require(URL(string: "\(provider.issuer.absoluteString)/authorize?\(fields.encoded)"))
    }

    /// Approves the sign-in and returns the parameters of the redirect.
    func approve(as name: String? = nil, _ changes: [String: String] = [:]) async throws -> FormFields {
        let url = try await Approval(as: name).redirect(approving: try url(changes), transport: transport)
        return try #require(FormFields(parsing: url.query(percentEncoded: true) ?? ""))
    }

    func code(as name: String? = nil) async throws -> String { try #require(try await approve(as: name)["code"]) }

    /// Sends a token request of the public client.
    func token(_ changes: [String: String], fields: HTTPFields = [:]) async throws -> TokenAnswer {
        var form = ["client_id": clientID]
        form.merge(changes) { $1 }
        return try await post("/token", form, fields: fields)
    }

    func redeem(_ code: String, _ changes: [String: String] = [:]) async throws -> TokenAnswer {
        let form = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirectURI, "code_verifier": verifier,
        ]
        return try await token(form.merging(changes) { $1 })
    }

    func refresh(_ token: String, _ changes: [String: String] = [:]) async throws -> TokenAnswer {
        try await self.token(["grant_type": "refresh_token", "refresh_token": token].merging(changes) { $1 })
    }

    /// Signs in as a user and returns the tokens.
    func tokens(as name: String? = nil) async throws -> TokenAnswer { try await redeem(try await code(as: name)) }

    func post(_ path: String, _ form: [String: String], fields: HTTPFields = [:]) async throws -> TokenAnswer {
        var body = FormFields()
        for (name, value) in form.sorted(by: { $0.key < $1.key }) where !value.isEmpty { body.append(name, value) }
        var fields = fields
        fields["Content-Type"] = "application/x-www-form-urlencoded"
        let url = try #require(URL(string: provider.issuer.absoluteString + path))
        let response = try await transport.send(
            HTTPRequest(.post, url, fields: fields, body: Data(body.encoded.utf8)))
        return TokenAnswer(response)
    }

    func get(_ path: String, token: String? = nil, fields: HTTPFields = [:]) async throws -> HTTPResponse {
        var fields = fields
        if let token { fields["Authorization"] = "Bearer \(token)" }
        let url = try #require(URL(string: provider.issuer.absoluteString + path))
        return try await transport.send(HTTPRequest(.get, url, fields: fields))
    }
}

/// A response of the token endpoint.
struct TokenAnswer: Sendable {
    let status: Int
    let fields: HTTPFields
    let object: JSONObject

    init(_ response: HTTPResponse) {
        status = response.status
        fields = response.fields
        object = (try? JSONValue(parsing: response.body))?.object ?? [:]
    }

    subscript(name: String) -> String? { object[name]?.string }
    var error: String? { self["error"] }
    var accessToken: String { self["access_token"] ?? "" }
    var refreshToken: String { self["refresh_token"] ?? "" }
}

extension HTTPResponse {
    var json: JSONObject { (try? JSONValue(parsing: body))?.object ?? [:] }
    var text: String { String(decoding: body, as: UTF8.self) }
    var value: [JSONObject] { json["value"]?.array?.compactMap(\.object) ?? [] }
    var graphCode: String? { json["error"]?.object?["code"]?.string }
}

/// A clock that only ``advance(by:)`` changes.
final class HandClock: Sendable {
    private let seconds = Mutex(1_800_000_000.0)
    func now() -> Date { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
    func advance(by duration: Double) { seconds.withLock { $0 += duration } }
}

func provider(_ change: (inout LoopbackProvider.Configuration) -> Void = { _ in }) async throws -> LoopbackProvider {
    var configuration = LoopbackProvider.Configuration()
    configuration.userCount = 60
    configuration.signingKey = try sharedKey.get()
    change(&configuration)
    return try await LoopbackProvider(configuration: configuration)
}
