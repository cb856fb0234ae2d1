import DirectorySearch
import Foundation
import HTTPExchange
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import Synchronization
import Testing

@Suite struct BoundAccountTests {
    @Test func `requests to a directory use DPoP, even after a nonce challenge and a refresh`() async throws {
        let network = OAuth2AccountStoreTesting.ScriptedTransport()
        let settings = """
            {"types": {"t": {"clientId": "c", "redirectUri": "http://127.0.0.1/callback", "scopes": ["User.Read"],
            "authorizationEndpoint": "https://id.example/authorize", "tokenEndpoint": "https://id.example/token",
            "graphAPI": "https://graph.example/", "dpop": true}}}
            """
        let store = try await InMemoryStore.open(
            settings: try Settings(bytes: Array(settings.utf8), source: "test"),
            dependencies: .testing(transport: network))
        let issued = Mutex(0)
        network.respond(to: .post, at: "/token") { _ in
            let number = issued.withLock { issued in
                issued += 1
                return issued
            }
            let text =
                #"{"access_token": "at-\#(number)", "token_type": "DPoP", "expires_in": 3600, "refresh_token": "rt-\#(number)"}"#
            return HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
        }
        let prepared = try await store.prepareSignIn(to: "t")
        let redirect = try #require(URL(string: "http://127.0.0.1/callback?code=c&state=\(prepared.id)"))
        let account = try await store.handleRedirect(redirect)
        // The directory first requires a nonce, then rejects the token.
        network.respond(to: .get, at: "/v1.0/me") { request in
            guard let proof = request.fields["DPoP"], proof.split(separator: ".").count == 3,
                request.fields.values(for: "Authorization").count == 1
            else { return HTTPResponse(status: 400) }
            let claims = String(proof.split(separator: ".")[1]).replacing("-", with: "+").replacing("_", with: "/")
            let padded = claims + String(repeating: "=", count: (4 - claims.count % 4) % 4)
            let text = Data(base64Encoded: padded).map { String(decoding: $0, as: UTF8.self) } ?? ""
            guard text.contains(#""nonce":"n""#) else {
                return HTTPResponse(
                    status: 401, fields: ["WWW-Authenticate": #"DPoP error="use_dpop_nonce""#, "DPoP-Nonce": "n"])
            }
            guard request.fields["Authorization"] == "DPoP at-2" else {
                return HTTPResponse(status: 401, fields: ["WWW-Authenticate": #"DPoP error="invalid_token""#])
            }
            return HTTPResponse(status: 200, body: Data(#"{"displayName": "Ada"}"#.utf8))
        }
        let me = try await GraphDirectory(account: account, in: store).me()
        #expect(me.displayName == "Ada")
        #expect(network.requests(.get, "/v1.0/me").count == 3 && network.requests(.post, "/token").count == 2)
    }
}
