import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import AccountKeys
import OAuth2AccountStore
import LodgePlatform
import ProviderSettings
import SealedStorage

/// A transport that acts as a provider with discovery, keys, userinfo and revocation. Refresh tokens rotate, and reuse
/// revokes all of them.
package final class FakeProvider: HTTPTransport {
    package typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    package struct State {
        package var requests: [HTTPRequest] = []
        package var codes: [String: (subject: String, nonce: String?)] = [:]
        /// The subjects of the valid refresh tokens.
        package var grants: [String: String] = [:]
        package var issued = 0
        /// The next responses of the token endpoint. After them it issues tokens again.
        package var answers: [Answer] = []
        /// The claims that replace or extend the claims of ID tokens.
        package var claims = JSONObject()
        package var keys: [JWK] = []
        package var revoked: [String] = []
        package var lifetime: Int? = 3600
        package var rotates = true
        package var sendsIDToken = true
        package var offersRevocation = true
        /// The members that replace or extend the metadata.
        package var metadata = JSONObject()
        /// The metadata of RFC 8414, if the provider has it too.
        package var oauthMetadata: JSONObject?
    }

    package let issuer: String
    package let clock: FakeClock
    package let state = Mutex(State())

    package init(issuer: String = "https://op.example.com", clock: FakeClock) throws {
        self.issuer = issuer
        self.clock = clock
        let key = try JWK.generate(for: .es256, keyID: "k1")
        state.withLock { $0.keys = [key] }
    }

    package func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    package var requests: [HTTPRequest] { state.withLock { $0.requests } }
    package var revoked: [String] { state.withLock { $0.revoked } }

    /// Sets the next responses of the token endpoint.
    package func next(_ answers: Answer...) { change { $0.answers += answers } }

    /// Returns the number of requests to a path, for example `/token` or `/jwks`.
    package func count(_ path: String) -> Int { requests.count { $0.url.path() == path } }

    /// The number of refresh requests.
    package var refreshes: Int { requests.count { Self.form($0)["grant_type"] == "refresh_token" } }

    package static func form(_ request: HTTPRequest) -> [String: String] {
        let text = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let items = URLComponents(string: "?" + text.replacing("+", with: "%20"))?.queryItems ?? []
        return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }

    /// Returns the redirect URL after the user signs in.
    package func approve(_ prepared: PreparedSignIn, as subject: String = "ada") -> URL {
        let items = URLComponents(url: prepared.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
        let code = state.withLock { state in
            state.issued += 1
            let code = "code-\(state.issued)"
            state.codes[code] = (subject, value("nonce"))
            return code
        }
        return Self.redirect(prepared, "code=\(code)&state=\(prepared.id)")
    }

    package static func redirect(_ prepared: PreparedSignIn, _ query: String) -> URL {
        URL(string: "\(prepared.redirectURI.text)?\(query)") ?? URL(filePath: "/")
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let scripted = state.withLock { state -> Answer? in
            state.requests.append(request)
            return request.url.path() == "/token" && !state.answers.isEmpty ? state.answers.removeFirst() : nil
        }
        if let scripted { return try await scripted(request) }
        switch request.url.path() {
        case "/.well-known/openid-configuration": return .json(.object(metadata()))
        case "/.well-known/oauth-authorization-server":
            return state.withLock { $0.oauthMetadata }.map { .json(.object($0)) } ?? HTTPResponse(status: 404)
        case "/jwks": return .json(.object(JWKSet(state.withLock { $0.keys }).json))
        case "/token": return try token(Self.form(request))
        case "/userinfo": return .json(["sub": "ada", "name": "Ada Lovelace", "email": "ada@example.com"])
        case "/revoke":
            state.withLock { state in
                let token = Self.form(request)["token"] ?? ""
                state.revoked.append(token)
                state.grants[token] = nil
            }
            return HTTPResponse(status: 200)
        default: return HTTPResponse(status: 404)
        }
    }

    private func metadata() -> JSONObject {
        var metadata: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/jwks"),
            "userinfo_endpoint": .string(issuer + "/userinfo"), "end_session_endpoint": .string(issuer + "/logout"),
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        ]
        if state.withLock({ $0.offersRevocation }) { metadata["revocation_endpoint"] = .string(issuer + "/revoke") }
        for member in state.withLock({ $0.metadata }).members { metadata[member.name] = member.value }
        return metadata
    }

    private func token(_ form: [String: String]) throws -> HTTPResponse {
        switch form["grant_type"] {
        case "authorization_code":
            guard let code = state.withLock({ $0.codes.removeValue(forKey: form["code"] ?? "") }) else {
                return .refusal("invalid_grant")
            }
            return .json(.object(try issue(code.subject, nonce: code.nonce)))
        case "refresh_token":
            let sent = form["refresh_token"] ?? ""
            let subject = state.withLock { state -> String? in
                guard let subject = state.grants[sent] else {
                    // The token was used before, so all refresh tokens end.
                    state.grants = [:]
                    return nil
                }
                if state.rotates { state.grants[sent] = nil }
                return subject
            }
            guard let subject else { return .refusal("invalid_grant") }
            return .json(.object(try issue(subject, nonce: nil)))
        default: return .refusal("unsupported_grant_type")
        }
    }

    /// Returns a token response with a new valid refresh token.
    package func issue(_ subject: String, nonce: String?) throws -> JSONObject {
        let (number, lifetime, rotates, sendsIDToken) = state.withLock { state in
            state.issued += 1
            let number = state.issued
            if state.rotates { state.grants["RT-\(number)"] = subject }
            return (number, state.lifetime, state.rotates, state.sendsIDToken)
        }
        var answer: JSONObject = ["access_token": .string("AT-\(number)"), "token_type": "Bearer"]
        if let lifetime { answer["expires_in"] = .number(JSONNumber(Int64(lifetime))) }
        if rotates { answer["refresh_token"] = .string("RT-\(number)") }
        if sendsIDToken { answer["id_token"] = .string(try idToken(subject, nonce: nonce)) }
        return answer
    }

    package func idToken(_ subject: String, nonce: String?) throws -> String {
        let (overlay, key) = state.withLock { ($0.claims, $0.keys.first) }
        let now = Int64(clock.now.timeIntervalSince1970)
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": .string(subject), "aud": "client", "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 600)), "preferred_username": .string("\(subject)@example.com"),
            "name": .string(subject.capitalized),
        ]
        if let nonce { claims["nonce"] = .string(nonce) }
        for member in overlay.members {
            if member.value == .null {
                claims = JSONObject(claims.members.filter { $0.name != member.name })
            } else {
                claims[member.name] = member.value
            }
        }
        guard let key else { return "" }
        return try JWS(signing: JSONValue.object(claims).serialized(), with: key, algorithm: .es256).compact() ?? ""
    }
}

/// A transport that selects one of several providers by host.
package struct Providers: HTTPTransport {
    package let all: [FakeProvider]

    package init(all: [FakeProvider]) { self.all = all }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let provider = all.first(where: { URL(string: $0.issuer)?.host() == request.url.host() }) else {
            throw HTTPTransportError(.cannotResolveHost, host: request.url.host() ?? "", reason: "no such host")
        }
        return try await provider.send(request)
    }
}

extension HTTPResponse {
    package static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(value.serialized()))
    }

    package static func refusal(_ code: String, _ explanation: String? = nil, status: Int = 400) -> HTTPResponse {
        var object: JSONObject = ["error": .string(code)]
        if let explanation { object["error_description"] = .string(explanation) }
        return .json(.object(object), status: status)
    }
}
