import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published userinfo responses.
struct UserInfoTests {
    /// The cases of a client that registered for signed responses.
    static let signed: Set<String> = ["UI-013", "UI-015"]
    /// The outcomes that this library reports differently.
    static let words: [String: Outcome] = ["alg_not_allowed": .invalidResponse("content_type")]

    static let plainCases = VectorFile("userinfo").cases { !signed.contains($0.id) }
    static let signedCases = VectorFile("userinfo").cases { signed.contains($0.id) }

    @Test(arguments: plainCases)
    func `a userinfo response is accepted or rejected as its case says`(vector: VectorCase) throws {
        do {
            let claims = try UserInfo.read(vector.input.response, subject: vector.input["id_token_sub"]?.string)
            #expect(vector.outcome == "accept")
            if let subject = vector.expect["sub"]?.string { #expect(claims.text("sub") == subject) }
            for name in ["name", "email", "updated_at", "email_verified"] {
                guard let wanted = vector.expect[name] else { continue }
                // A claim of the wrong type is ignored.
                let claim: JSONValue =
                    switch name {
                    case "updated_at": claims[name]?.number.map(JSONValue.number) ?? .null
                    case "email_verified": claims[name]?.bool.map(JSONValue.bool) ?? .null
                    default: claims.text(name).map(JSONValue.string) ?? .null
                    }
                #expect(claim == wanted, "\(name)")
            }
            // The reader has no transport: it cannot fetch claims.
            if let fetches = vector.expect.int("fetches") { #expect(fetches == 0) }
            if let isUnverified = vector.expect["unverified_link"]?.bool {
                #expect((vector.input["id_token_sub"]?.string == nil) == isUnverified)
            }
            for forbidden in vector.expect.texts("display_must_not_contain") ?? [] {
                #expect(!JSONValue.object(claims).text().contains(forbidden))
            }
        } catch {
            switch vector.outcome {
            case "reject":
                #expect(Outcome(error) == Self.words[vector.reason ?? ""] ?? .invalidResponse(vector.reason ?? ""))
            case "challenge":
                #expect(Outcome(error) == .oauthError(vector.expect["error"]?.string ?? "", status: 401))
            default: expectFailure(error, vector.expect)
            }
        }
    }

    @Test(arguments: signedCases)
    func `a signed userinfo response is rejected as its case says`(vector: VectorCase) throws {
        let algorithm = try #require(JWSAlgorithm(name: vector.input["userinfo_signed_response_alg"]?.string ?? ""))
        let key = try JWK.generate(for: algorithm)
        var response = vector.input.response
        // `<JWS claims={…}>` is a placeholder for these claims in a signed JWT.
        let body = String(decoding: response.body, as: UTF8.self)
        if let match = body.firstMatch(of: /<JWS claims=(.*)>/) {
            let claims = try #require(try JSONValue(parsing: String(match.1)).object)
            response.body = .init(try JWT.sign(claims, with: key, algorithm: algorithm).utf8)
        }
        let result = Result { try read(response, key, algorithm) }
        switch result {
        case .success: Issue.record("accepted")
        case .failure(let error):
            #expect(vector.outcome == "reject")
            #expect(Outcome(error) == .invalidResponse(vector.reason ?? ""))
        }
    }

    private func read(_ response: HTTPResponse, _ key: JWK, _ algorithm: JWSAlgorithm) throws -> JSONObject {
        var validation = IDTokenValidation(issuer: "https://op.example.com", clientID: "c")
        validation.algorithms = [algorithm.rawValue]
        return try UserInfo.readSigned(
            response, subject: "248289761001", validation: validation, keys: JWKSet([key]))
    }

    @Test func `a signed userinfo response with the expected issuer and audience is accepted`() throws {
        let key = try JWK.generate(for: .es256)
        let claims: JSONObject = [
            "sub": "248289761001", "iss": "https://op.example.com", "aud": "c", "name": "Jane",
        ]
        var response = HTTPResponse(status: 200, fields: ["Content-Type": "application/jwt"])
        response.body = .init(try JWT.sign(claims, with: key, algorithm: .es256).utf8)
        #expect(try read(response, key, .es256).text("name") == "Jane")
        let other = try JWK.generate(for: .es256)
        #expect(throws: OAuth2Error.idToken(.signature)) { try read(response, other, .es256) }
    }

    @Test func `a userinfo request has the token only in its Authorization field`() throws {
        var server = AuthorizationServer()
        #expect(UserInfo.request(server: server, accessToken: Secret("t")) == nil)
        server.userinfoEndpoint = .init(string: "https://as.example.com/userinfo")
        let request = try #require(UserInfo.request(server: server, accessToken: Secret("t")))
        #expect(request.fields["Authorization"] == "Bearer t")
        #expect(request.url.absoluteString == "https://as.example.com/userinfo")
    }
}
