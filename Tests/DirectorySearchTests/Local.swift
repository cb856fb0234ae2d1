import Foundation
import CurlHTTP
import HTTPExchange
import LocalProvider
import StrictJSON
import Testing

@testable import DirectorySearch

/// A local provider in this process, with a token for Ada.
final class Local: Sendable {
    let provider: LoopbackProvider
    private let token: String

    init(
        people: Int = 60, scope: String = "User.ReadBasic.All",
        _ change: (inout LoopbackProvider.Configuration) -> Void = { _ in }
    ) async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.userCount = people
        change(&configuration)
        let provider = try await LoopbackProvider(configuration: configuration)
        self.provider = provider
        let transport = CurlTransport(userAgent: "a test")
        // The verifier and challenge of RFC 7636, appendix B.
        let query =
            "response_type=code&client_id=lodge&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback"
            + "&scope=\(scope.replacing(" ", with: "%20"))&state=s&code_challenge_method=S256"
            + "&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        let authorization = try #require(URL(string: "\(provider.issuer)/authorize?\(query)"))
        let back = try await Approval().redirect(approving: authorization, transport: transport)
        let code = try #require(
            URLComponents(url: back, resolvingAgainstBaseURL: false)?.queryItems?.first { $0.name == "code" }?.value)
        let form =
            "grant_type=authorization_code&client_id=lodge&redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback"
            + "&code=\(code)&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let url = try #require(URL(string: "\(provider.issuer)/token"))
        let answer = try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Content-Type": "application/x-www-form-urlencoded"], body: Data(form.utf8)))
        token = try #require(try JSONValue(parsing: answer.body).object?["access_token"]?.string)
    }

    deinit { provider.close() }

    private func client(_ path: String) throws -> DirectoryClient {
        let token = token
        var client = try DirectoryClient(
            directoryBase: try #require(URL(string: "\(provider.issuer)\(path)")),
            transport: CurlTransport(userAgent: "a test"), authorization: { _ in token })
        client.sleep = { _ in }
        return client
    }

    /// Sends a request to the local Graph.
    func send(
        _ method: HTTPMethod, _ target: String, _ fields: HTTPFields = [:], body: String? = nil,
        isAuthorized: Bool = true
    ) async throws -> HTTPResponse {
        var fields = fields
        if isAuthorized { fields["Authorization"] = "Bearer \(token)" }
        if body != nil { fields["Content-Type"] = "application/json" }
        let url = try #require(URL(string: provider.issuer.absoluteString + target))
        return try await CurlTransport(userAgent: "a test")
            .send(HTTPRequest(method, url, fields: fields, body: body.map { Data($0.utf8) }))
    }

    func scim() throws -> SCIMDirectory { SCIMDirectory(client: try client("/scim/v2")) }
    func google() throws -> GoogleDirectory { GoogleDirectory(client: try client("/admin/directory/v1/")) }
}
