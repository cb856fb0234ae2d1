import LodgePlatform
import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published client authentication cases.
struct ClientAuthenticationTests {
    static let leftOut = [
        "CA-017": "the store decides how often it sends a request; a request has one method",
        "CA-037": "a separate test covers it",
    ]
    static let cases = VectorFile("client-auth").cases(except: leftOut)

    @Test func `CA-037: an actor_token_type without an actor_token is rejected`() throws {
        let vector = try #require(VectorFile("client-auth").cases.first { $0.id == "CA-037" })
        var server = AuthorizationServer(issuer: "https://as.example.com")
        server.tokenEndpoint = URL(string: "https://as.example.com/token")
        let exchange = TokenExchange(
            subject: .init(
                Secret(try #require(vector.input["subject_token"]?.string)),
                type: try #require(vector.input["subject_token_type"]?.string)))
        let type = try #require(vector.input["actor_token_type"]?.string)
        // The grant's type prevents this, and as an additional parameter it is a reserved name.
        do {
            _ = try TokenRequest(
                .tokenExchange(exchange), server: server, client: Client(id: "c"),
                parameters: ["actor_token_type": type])
            Issue.record("the request was accepted")
        } catch {
            expectFailure(error, vector.expect)
        }
    }

    @Test(arguments: cases)
    func `a client authenticates as its case says`(vector: VectorCase) throws {
        do {
            let requests = try Self.requests(vector)
            #expect(vector.outcome.isEmpty)
            let request = try #require(requests.first)
            try check(request, vector)
            try checkAssertion(requests, vector)
        } catch let error as OAuth2Error {
            expectFailure(error, vector.expect)
        }
    }

    /// Creates as many requests as the case asks for.
    static func requests(_ vector: VectorCase) throws -> [HTTPRequest] {
        var server = AuthorizationServer(issuer: vector.input["issuer"]?.string ?? "https://as.example.com")
        server.tokenEndpoint = URL(
            string: vector.input["endpoint"]?.string ?? vector.input["token_endpoint"]?.string
                ?? "https://as.example.com/token")
        let id = try #require(vector.input["client_id"]?.string)
        let client = Client(
            id: id,
            authentication: try ClientAuthentication(
                method: try #require(vector.input["method"]?.string),
                secret: vector.input["client_secret"]?.string.map(Secret.init), key: try key(vector)))
        var extra: [String: String] = [:]
        for member in (vector.input["extra_form"]?.object ?? [:]).members { extra[member.name] = member.value.string }
        return try (0..<(vector.input.int("requests") ?? 2)).map { _ in
            let prepared = try client.prepared(for: server, now: 1_700_000_000)
            return try TokenRequest(
                .refreshToken(Secret("r"), scope: nil), server: server, client: prepared, parameters: extra
            ).request
        }
    }

    private static func key(_ vector: VectorCase) throws -> SigningKey? {
        guard vector.input["method"]?.string == "private_key_jwt" else { return nil }
        let algorithm = JWSAlgorithm(name: vector.input["key_alg"]?.string ?? "ES256") ?? .es256
        let key = try JWK.generate(for: algorithm, keyID: vector.input["kid"]?.string)
        if vector.input["key"]?.string == "public only" {
            let publicKey = try #require(key.publicKey)
            return try SigningKey(publicKey, algorithm: algorithm)
        }
        return try SigningKey(key, algorithm: algorithm)
    }

    private func check(_ request: HTTPRequest, _ vector: VectorCase) throws {
        for member in (vector.expect["headers"]?.object ?? [:]).members {
            let found = try #require(request.fields[member.name])
            let wanted = try #require(member.value.string)
            if vector.id == "CA-010" {
                // Percent-encoding "-", "_" and "." too would break servers that do not decode: GUIDs contain hyphens.
                // As the case's note says, both must decode to the same value.
                #expect(try Self.credentials(found) == Self.credentials(wanted))
            } else {
                #expect(found == wanted)
            }
        }
        for name in vector.expect.texts("headers_must_not_contain") ?? [] { #expect(request.fields[name] == nil) }
        let form = form(request)
        for name in vector.expect.texts("form_must_not_contain") ?? [] { #expect(form[name] == nil) }
        for member in (vector.expect["form"]?.object ?? [:]).members {
            #expect(form[member.name] == [member.value.string ?? ""])
        }
        if let part = vector.expect["body_contains"]?.string {
            #expect(String(decoding: request.body ?? Data(), as: UTF8.self).contains(part))
        }
        if let url = vector.expect["url"]?.string { #expect(request.url.absoluteString == url) }
    }

    private static func credentials(_ header: String) throws -> [String] {
        let decoded = try #require(Data(base64Encoded: String(header.dropFirst(6))))
        let sides = String(decoding: decoded, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
        return sides.compactMap { FormEncoding.decode($0)?.first?.name }
    }

    private func checkAssertion(_ requests: [HTTPRequest], _ vector: VectorCase) throws {
        let tokens = try requests.compactMap { try form($0)["client_assertion"]?.first.map(JWT.init(parsing:)) }
        guard let token = tokens.first else {
            #expect(vector.expect["jwt_claims"] == nil && vector.expect["jwt_header"] == nil)
            return
        }
        for member in (vector.expect["jwt_header"]?.object ?? [:]).members {
            #expect(token.header[member.name] == member.value)
        }
        for name in vector.expect.texts("jwt_header_absent") ?? [] { #expect(token.header[name] == nil) }
        let claims = token.unverifiedClaims
        for member in (vector.expect["jwt_claims"]?.object ?? [:]).members {
            #expect(claims[member.name] == member.value)
        }
        for name in vector.expect.texts("jwt_claims_present") ?? [] { #expect(claims[name] != nil) }
        if let most = vector.expect.int("exp_minus_iat_at_most") {
            let issued = try claims.issuedAt ?? 0, expires = try claims.expiration ?? 0
            #expect(issued == 1_700_000_000 && expires > issued && expires - issued <= Double(most))
        }
        let identifiers = tokens.compactMap { $0.unverifiedClaims["jti"]?.string }
        let differ = vector.expect["jti_differ"]?.bool ?? vector.expect["all_jti_distinct"]?.bool ?? true
        #expect((Set(identifiers).count == requests.count) == differ)
    }

    @Test func `a client assertion verifies with the client's key`() throws {
        let key = try JWK.generate(for: .es256, keyID: "k1")
        let client = Client(id: "c", authentication: .privateKeyJWT(try SigningKey(key, algorithm: .es256)))
        let prepared = try client.prepared(for: AuthorizationServer(issuer: "https://as.example.com"), now: 10)
        guard case .assertion(let assertion) = prepared.authentication else {
            Issue.record("the client has no assertion")
            return
        }
        let keys = JWKSet([key])
        #expect(throws: Never.self) { try JWT(parsing: assertion.value).verified(with: keys, algorithms: [.es256]) }
    }

    @Test func `a client without a prepared assertion cannot send a request`() throws {
        var server = AuthorizationServer()
        server.tokenEndpoint = URL(string: "https://as.example.com/token")
        let client = Client(id: "c", authentication: .secretJWT(Secret("client_secret_of_at_least_32_octets!")))
        #expect(throws: OAuth2Error.self) {
            try TokenRequest(.refreshToken(Secret("r"), scope: nil), server: server, client: client)
        }
    }

    @Test func `secretBasicRaw omits the form encoding, for servers that do not decode`() throws {
        var server = AuthorizationServer()
        server.tokenEndpoint = URL(string: "https://as.example.com/token")
        let client = Client(id: "a b", authentication: .secretBasicRaw(Secret("c/d")))
        let request = try TokenRequest(.refreshToken(Secret("r"), scope: nil), server: server, client: client).request
        #expect(request.fields["Authorization"] == "Basic " + Data("a b:c/d".utf8).base64EncodedString())
    }
}
