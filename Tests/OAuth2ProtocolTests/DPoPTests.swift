import LodgePlatform
import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published DPoP cases.
struct DPoPTests {
    static let file = VectorFile("dpop")
    static let leftOut = ["DP-026": "the store saves the key with the refresh token"]

    static func cases(_ kind: String) -> [VectorCase] { file.cases(except: leftOut) { $0.kind == kind } }

    @Test(arguments: cases("hash"))
    func `thumbprints and access token hashes are computed as their case says`(vector: VectorCase) throws {
        if let jwk = vector.input["jwk"]?.object { #expect(try JWK(jwk).thumbprint() == vector.expect["jkt"]?.string) }
        if let token = vector.input["access_token"]?.string {
            #expect(DPoP.hash(of: Secret(token)) == vector.expect["ath"]?.string)
        }
    }

    @Test(arguments: cases("htu"))
    func `the htu claim is computed as its case says`(vector: VectorCase) throws {
        let url = try #require(URL(string: vector.input["url"]?.string ?? ""))
        let target = try #require(DPoP.target(url))
        #expect(target == vector.expect["htu"]?.string)
        #expect(!target.contains { "?#".contains($0) } == vector.expect["no_query_or_fragment"]?.bool ?? true)
    }

    @Test(arguments: cases("proof"))
    func `a DPoP proof is created as its case says`(vector: VectorCase) throws {
        do {
            try check(vector)
            #expect(vector.outcome.isEmpty)
        } catch let error as OAuth2Error {
            expectFailure(error, vector.expect)
        }
    }

    private func check(_ vector: VectorCase) throws {
        let input = vector.input, expect = vector.expect
        if let jwk = input["jwk"]?.object {
            var options = AuthorizationRequest.Options()
            options.dpopKeyThumbprint = try JWK(jwk).thumbprint()
            let redirect = try RedirectURI("http://127.0.0.1/cb")
            let request = try AuthorizationRequest(
                server: PKCETests.server, client: Client(id: "c"), redirectURI: redirect, scope: [], options: options)
            #expect(query(request)["dpop_jkt"] == [expect["params"]?.object?["dpop_jkt"]?.string ?? ""])
            return
        }
        let algorithm = JWSAlgorithm(name: input["alg"]?.string ?? "ES256") ?? .es256
        let key = try SigningKey.first(
            of: [try SigningKey(JWK.generate(for: algorithm, keyID: "k"), algorithm: algorithm)],
            announced: input.texts("supported"))
        let url = try #require(URL(string: input["url"]?.string ?? ""))
        let method = HTTPMethod(rawValue: input["method"]?.string ?? "GET")
        let token = input["access_token"]?.string.map(Secret.init)
        func signed() throws -> HTTPRequest {
            try DPoP.signed(HTTPRequest(method, url), key: key, accessToken: token, now: 1_700_000_000)
        }
        let request = try signed()
        let proof = try JWT(parsing: request.fields["DPoP"] ?? "")
        #expect(request.fields.values(for: "DPoP").count == expect.int("dpop_header_count") ?? 1)
        #expect(request.url.absoluteString == expect["url"]?.string ?? url.absoluteString && request.body == nil)
        #expect(throws: Never.self) { try proof.verified(with: JWKSet([key.key]), algorithms: [key.algorithm]) }
        for member in (expect["header"]?.object ?? [:]).members { #expect(proof.header[member.name] == member.value) }
        let jwk = try #require(proof.header["jwk"]?.object)
        #expect(jwk["kty"] != nil && proof.header["kid"] == nil)
        for name in expect.texts("header_jwk_must_not_contain") ?? [] { #expect(jwk[Self.bare(name)] == nil) }
        for member in (expect["claims"]?.object ?? [:]).members {
            #expect(proof.unverifiedClaims[member.name] == member.value)
        }
        for name in expect.texts("claims_present") ?? [] { #expect(proof.unverifiedClaims[name] != nil) }
        for name in expect.texts("claims_absent") ?? [] { #expect(proof.unverifiedClaims[Self.bare(name)] == nil) }
        for member in (expect["headers"]?.object ?? [:]).members {
            #expect(request.fields[member.name] == member.value.string)
        }
        if let bits = expect.int("jti_min_bits") {
            let identifier = try #require(proof.unverifiedClaims["jti"]?.string.flatMap { Base64URL.decode($0) })
            #expect(identifier.count * 8 >= bits)
        }
        if let count = input.int("repeat") {
            let identifiers = try (0..<count).map { _ in
                try JWT(parsing: signed().fields["DPoP"] ?? "").unverifiedClaims["jti"]?.string
            }
            #expect((Set(identifiers).count == count) == expect["all_jti_distinct"]?.bool)
        }
    }

    /// Removes the `?` of an optional member.
    private static func bare(_ name: String) -> String { name.filter { $0 != "?" } }

    @Test(arguments: cases("sequence"))
    func `DPoP nonces are reused as the case says`(vector: VectorCase) throws {
        let key = try SigningKey(JWK.generate(for: .es256), algorithm: .es256)
        var nonces = DPoPNonces()
        var sent: [String?] = [], identifiers: [String] = []
        var isRetry = false, wantsRetry = false, status: Int?
        for step in (vector.input["steps"]?.array ?? []).compactMap(\.object) {
            let url = try #require(URL(string: step["request"]?.object?["url"]?.string ?? ""))
            let answer = step["response"]?.object ?? [:]
            let request = try DPoP.signed(
                HTTPRequest(.post, url), key: key, nonce: nonces.nonce(for: url), now: 1_700_000_000)
            let claims = try JWT(parsing: request.fields["DPoP"] ?? "").unverifiedClaims
            sent.append(claims["nonce"]?.string)
            identifiers.append(claims["jti"]?.string ?? "")

            var response = HTTPResponse(status: answer.int("status") ?? 200)
            status = response.status
            if let nonce = answer["DPoP-Nonce"]?.string { response.fields["DPoP-Nonce"] = nonce }
            if let challenge = answer["WWW-Authenticate"]?.string { response.fields["WWW-Authenticate"] = challenge }
            if let error = answer["error"]?.string { response.body = Data(#"{"error":"\#(error)"}"#.utf8) }
            nonces.note(response, from: url)
            #expect(nonces.nonce(for: url) == answer["DPoP-Nonce"]?.string ?? sent.last ?? nil)
            isRetry = wantsRetry
            wantsRetry = wants(response, isRetry: isRetry)
        }
        if let wanted = vector.expect["nonce_sent"]?.array { #expect(sent == wanted.map(\.string)) }
        if let differ = vector.expect["jti_differ"]?.bool {
            #expect((Set(identifiers).count == identifiers.count) == differ)
        }
        // The script ends with the final response. A request for another retry is an error.
        let last = try #require(status)
        switch vector.outcome {
        case "token": #expect(!wantsRetry && last == 200)
        case "error": #expect(!wantsRetry && last >= 400)
        // A retry would succeed, but the request body cannot be sent again. The next request has the nonce.
        case "response_returned_with_nonce_stored": #expect(wantsRetry && last >= 400)
        case "": #expect(vector.expect["nonce_sent"] != nil || vector.expect["jti_differ"] != nil)
        default: Issue.record("unknown outcome \(vector.outcome)")
        }
    }

    private func wants(_ response: HTTPResponse, isRetry: Bool) -> Bool {
        if DPoP.retryNonce(after: response, isRetry: isRetry) != nil { return true }
        let answer = ResourceResponse.decide(response, tokenType: "dpop", hasRefreshToken: false, isRetry: isRetry)
        if case .retryWithNonce = answer { return true }
        return false
    }

    @Test func `frequent nonces of one server do not evict other servers' nonces`() throws {
        let busy = try #require(URL(string: "https://busy.example/")),
            quiet = try #require(URL(string: "https://quiet.example/"))
        var nonces = DPoPNonces()
        nonces.note(HTTPResponse(status: 200, fields: ["DPoP-Nonce": "q"]), from: quiet)
        for number in 0..<100 {
            nonces.note(HTTPResponse(status: 200, fields: ["DPoP-Nonce": "n\(number)"]), from: busy)
        }
        #expect(nonces.nonce(for: quiet) == "q")
        #expect(nonces.nonce(for: busy) == "n99")
    }

    @Test func `the number of servers with a nonce is limited`() throws {
        var nonces = DPoPNonces()
        for number in 0..<100 {
            let url = try #require(URL(string: "https://a\(number).example/x"))
            nonces.note(HTTPResponse(status: 200, fields: ["DPoP-Nonce": "n\(number)"]), from: url)
        }
        #expect(nonces.nonce(for: try #require(URL(string: "https://a99.example/y"))) == "n99")
        #expect(nonces.nonce(for: try #require(URL(string: "https://a67.example/y"))) == nil)
    }
}
