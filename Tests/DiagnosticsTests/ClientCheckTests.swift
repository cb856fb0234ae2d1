import AccountKeys
import Foundation
import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StoreTestSupport
import Synchronization
import Testing

@testable import Diagnostics

struct ClientCheckTests {
    /// A response to an authorization request, and the expected state of the finding.
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var fields: HTTPFields = [:]
        var body = ""
        var state: ProviderReport.Finding.State
        var testDescription: String { "\(status) \(fields["Location"] ?? fields["WWW-Authenticate"] ?? body)" }
    }

    static let rows: [Row] = [
        // The provider knows the client: it redirects to the redirect URI.
        Row(
            status: 302, fields: ["Location": "http://127.0.0.1:7777/callback?error=login_required&state=s"], state: .ok
        ),
        Row(status: 302, fields: ["Location": "http://127.0.0.1:7777/callback?code=c&state=s"], state: .ok),
        Row(status: 303, fields: ["Location": "http://127.0.0.1:7777/callback?error=unauthorized_client"], state: .ok),
        Row(
            status: 302, fields: ["Location": "http://127.0.0.1:7777/callback?error=invalid_scope&state=s"],
            state: .problem),
        // A page of the provider.
        Row(status: 400, body: "<h1>unknown client</h1>", state: .problem),
        Row(status: 401, body: "<h1>unknown client</h1>", state: .problem),
        Row(status: 200, body: "AADSTS700016: application not found", state: .problem),
        Row(status: 200, body: "<h1>Sign in</h1>", state: .notOffered),
        Row(status: 302, fields: ["Location": "https://op.example.com/login"], state: .notOffered),
        Row(status: 503, body: "later", state: .notOffered),
        // The server authenticates the user before it reads the request.
        Row(status: 401, fields: ["WWW-Authenticate": "Negotiate"], state: .notOffered),
    ]

    @Test(arguments: rows)
    func `the response to an authorization request shows whether the provider knows the client`(row: Row) async throws {
        let requests = Mutex<[HTTPRequest]>([])
        let transport = NetworkDiagnosisTests.Answers { request in
            requests.withLock { $0.append(request) }
            return HTTPResponse(status: row.status, fields: row.fields, body: Data(row.body.utf8))
        }
        var server = AuthorizationServer(issuer: "https://op.example.com")
        server.authorizationEndpoint = URL(string: "https://op.example.com/authorize")
        let finding = try await ProviderReport.client(
            of: try TestStore.type(), at: server, dependencies: Dependencies(transport: transport, environment: [:]))
        #expect(finding.subject == "client" && finding.state == row.state, "\(finding.detail)")
        let request = try #require(requests.withLock { $0.first })
        #expect(requests.withLock { $0.count } == 1)
        #expect(request.url.query()?.contains("prompt=none") == true && request.fields["Authorization"] == nil)
    }
}
