import LodgePlatform
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published code verifiers and challenges.
struct PKCETests {
    static let leftOut = [
        "PK-009": "see VectorCoverage.exceptions", "PK-030": "the store removes a pending sign-in",
    ]
    static let cases = VectorFile("pkce").cases(except: leftOut)
    static let server: AuthorizationServer = {
        var server = AuthorizationServer(issuer: "https://as.example.com")
        server.authorizationEndpoint = .init(string: "https://as.example.com/authorize")
        server.tokenEndpoint = .init(string: "https://as.example.com/token")
        return server
    }()

    @Test(arguments: cases)
    func `a code verifier and its challenge are valid as their case says`(vector: VectorCase) throws {
        switch vector.kind {
        case "s256":
            let text = try #require(vector.input["verifier"]?.string)
            let verifier = try #require(CodeVerifier(text))
            #expect(verifier.challenge == vector.expect["challenge"]?.string)
        case "octets":
            let octets = (vector.input["octets"]?.array ?? []).compactMap { $0.number?.int64.map(UInt8.init) }
            #expect(CodeVerifier(random: octets).secret.value == vector.expect["verifier"]?.string)
        case "verifier":
            let verifier = CodeVerifier(try #require(vector.input["verifier"]?.string))
            #expect((verifier != nil) == vector.expect["valid"]?.bool)
        case "flow":
            try checkFlow(vector)
        default:
            Issue.record("unknown kind")
        }
    }

    private func checkFlow(_ vector: VectorCase) throws {
        let client = Client(id: "c")
        let redirect = try RedirectURI("http://127.0.0.1:51004/cb")
        let first = try AuthorizationRequest(server: Self.server, client: client, redirectURI: redirect, scope: [])
        let second = try AuthorizationRequest(server: Self.server, client: client, redirectURI: redirect, scope: [])
        func token(_ code: String, _ pending: PendingAuthorization) throws -> TokenRequest {
            try TokenRequest(.authorizationCode(Secret(code), pending), server: Self.server, client: client)
        }
        switch vector.id {
        case "PK-025":
            let wanted = try #require(vector.expect["params"]?.object?.members)
            for member in wanted { #expect(query(first)[member.name] == [member.value.string ?? ""]) }
        case "PK-027":
            let verifier = first.pending.verifier.secret.value
            let request = try token("code", first.pending).request
            let places = [
                "body": form(request)["code_verifier"]?.first ?? "",
                "query": request.url.absoluteString + first.url.absoluteString, "log": "\(request) \(first.pending)",
            ]
            #expect(places[vector.expect["in"]?.string ?? ""]?.contains(verifier) == true)
            for place in try #require(vector.expect.texts("not_in")) {
                #expect(places[place]?.contains(verifier) == false, "\(place)")
            }
        case "PK-028":
            // An authorization code here always has a code challenge; the other grants have no challenge.
            let secret = Secret("s")
            var confidential = Client(id: "c")
            confidential.authentication = .secretPost(secret)
            let grants: [TokenRequest.Grant] = [
                .refreshToken(secret, scope: nil), .clientCredentials(scope: nil), .deviceCode(secret),
                .jwtBearer(secret, scope: nil), .samlBearer(secret, scope: nil),
                .password(username: "ada", secret, scope: nil),
                .tokenExchange(TokenExchange(subject: .init(secret, type: TokenExchange.accessTokenType))),
            ]
            for grant in grants {
                let request = try TokenRequest(grant, server: Self.server, client: confidential).request
                for name in vector.expect.texts("body_must_not_contain") ?? [] {
                    let body = form(request)
                    #expect(body["grant_type"] == [grant.name] && body[name] == nil, "\(grant.name)")
                }
            }
        case "PK-029":
            #expect(first.pending.verifier != second.pending.verifier)
            for (own, other) in [(first, second), (second, first)] {
                let address = "http://127.0.0.1:51004/cb?code=x&state=\(own.pending.state)"
                let response = try AuthorizationResponse(redirect: address)
                #expect(throws: OAuth2Error.redirect(.stateMismatch)) { try response.code(for: other.pending) }
                let code = try response.code(for: own.pending)
                let request = try token(code.value, own.pending).request
                let isOwn = form(request)["code_verifier"] == [own.pending.verifier.secret.value]
                #expect(isOwn == vector.expect["each_code_uses_its_own_verifier"]?.bool)
            }
        default: Issue.record("unknown case")
        }
    }
}
