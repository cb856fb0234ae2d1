import StrictJSON
import Testing

@testable import JOSE

@Suite struct JWTTests {
    let key: JWK

    init() throws { key = try JWK.generate(for: .es256, keyID: "k") }

    @Test func `a signed JWT verifies and returns its claims`() throws {
        let text = try JWT.sign(
            ["iss": "i", "sub": "s", "aud": ["a", "b"], "exp": 20, "nbf": 10, "iat": 10, "jti": "j", "x": nil],
            with: key, algorithm: .es256)
        let token = try JWT(parsing: text)
        #expect(token.algorithm == .es256 && token.keyID == "k")
        let verified = try token.verified(with: JWKSet([key]), algorithms: JWSAlgorithm.asymmetric)
        #expect(verified.header == ["alg": "ES256", "kid": "k", "typ": "JWT"])
        #expect(verified.key.keyID == "k" && !verified.key.isPrivate)
        let claims = verified.claims
        #expect(try claims.issuer == "i")
        #expect(try claims.subject == "s")
        #expect(try claims.audience == ["a", "b"])
        #expect(try claims.expiration == 20)
        #expect(try claims.notBefore == 10)
        #expect(try claims.issuedAt == 10)
        #expect(try claims.tokenID == "j")
        #expect(claims["x"] == .null && claims["y"] == nil)
    }

    @Test func `a missing claim is nil, and a claim of the wrong type is an error`() throws {
        let empty = JWTClaims([:])
        #expect(try empty.issuer == nil && empty.audience == nil && empty.expiration == nil)
        #expect(try JWTClaims(["aud": "a"]).audience == ["a"])
        #expect(try JWTClaims(["aud": []]).audience == [])
        #expect(throws: JOSEError.self) { try JWTClaims(["iss": 1]).issuer }
        #expect(throws: JOSEError.self) { try JWTClaims(["iss": nil]).issuer }
        #expect(throws: JOSEError.self) { try JWTClaims(["aud": ["a", 1]]).audience }
        #expect(throws: JOSEError.self) { try JWTClaims(["aud": 1]).audience }
        #expect(throws: JOSEError.self) { try JWTClaims(["exp": "20"]).expiration }
        let huge = try JSONValue(parsing: #"{"exp":1e999,"iat":1.5}"#)
        #expect(throws: JOSEError.self) { try JWTClaims(huge.object ?? [:]).expiration }
        #expect(try JWTClaims(huge.object ?? [:]).issuedAt == 1.5)
    }

    @Test(arguments: [
        #"[]"#, "", "{", #"{"a":1,"a":2}"#, #"{"a":{"b":1,"b":1}}"#, "\u{FEFF}{}", "{} {}", "\"x\"", "null",
    ])
    func `a payload that is not one JSON object is rejected`(payload: String) throws {
        let text = try JWS(signing: payload.bytes, with: key, algorithm: .es256).compact() ?? ""
        do throws(JOSEError) {
            _ = try JWT(parsing: text)
            Issue.record("accepted")
        } catch {
            guard case .claims = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test func `a JWT that is too long is malformed`() throws {
        let long = JSONObject([.init(name: "x", value: .string(String(repeating: "a", count: 200_000)))])
        #expect(throws: JOSEError.self) { try JWT(parsing: try JWT.sign(long, with: key, algorithm: .es256)) }
    }

    @Test func `a duplicate claim is not signed`() {
        #expect(throws: JOSEError.self) { try JWT.sign(["a": 1, "a": 2], with: key, algorithm: .es256) }
    }

    @Test func `HMAC verifies only with the secret, and other algorithms only with the key set`() throws {
        let secret = "client_secret_of_at_least_32_octets!".bytes
        let symmetric = try JWT(parsing: try JWT.sign([:], with: try JWK(secret: secret), algorithm: .hs256))
        let asymmetric = try JWT(parsing: try JWT.sign([:], with: key, algorithm: .es256))
        let set = JWKSet([key, try JWK(secret: secret)])
        let both: Set<JWSAlgorithm> = [.hs256, .es256]
        #expect(try symmetric.verified(withSecret: secret, algorithms: both).algorithm == .hs256)
        #expect(try symmetric.verified(with: set, secret: secret, algorithms: both).algorithm == .hs256)
        #expect(try asymmetric.verified(with: set, secret: secret, algorithms: both).algorithm == .es256)
        #expect(throws: JOSEError.keyNotFound) { try symmetric.verified(with: set, algorithms: both) }
        #expect(throws: JOSEError.keyNotFound) { try symmetric.verified(with: set, secret: nil, algorithms: both) }
        #expect(throws: JOSEError.algorithmNotAllowed("HS256")) {
            try symmetric.verified(with: set, secret: secret, algorithms: [.es256])
        }
        #expect(throws: JOSEError.algorithmNotAllowed("ES256")) {
            try asymmetric.verified(withSecret: secret, algorithms: both)
        }
        #expect(throws: JOSEError.signature) {
            try symmetric.verified(withSecret: "another_secret_of_at_least_32_octets".bytes, algorithms: both)
        }
        #expect(throws: JOSEError.weakKey("HS256 takes a secret of at least 32 bytes")) {
            try symmetric.verified(withSecret: "short".bytes, algorithms: both)
        }
    }

    /// Tests the algorithm confusion attack: a public key used as an HMAC secret.
    @Test func `a public key is not accepted as an HMAC secret`() throws {
        let rsa = try JWK.generate(for: .rs256)
        let text = JSONValue.object(rsa.publicJSON).serialized()
        let forged = try JWT(parsing: try JWT.sign([:], with: try JWK(secret: text), algorithm: .hs256))
        #expect(throws: JOSEError.keyNotFound) {
            try forged.verified(with: JWKSet([rsa]), algorithms: Set(JWSAlgorithm.allCases))
        }
        #expect(throws: JOSEError.self) { try forged.verified(with: rsa, algorithms: [.hs256, .rs256]) }
    }

    @Test func `errors and descriptions contain no part of a JWT`() throws {
        let text = try JWT.sign(["sub": "somebody"], with: key, algorithm: .es256)
        let token = try JWT(parsing: text)
        let verified = try token.verified(with: key, algorithms: [.es256])
        let values: [Any] = [token, verified, verified.claims]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(Mirror(reflecting: value).children.isEmpty)
            #expect(!dumped.contains("somebody") && dumped.count < 60)
        }
        let errors: [JOSEError] = [
            .malformed("m"), .header("h"), .claims("c"), .algorithmNotAllowed("a"), .criticalUnsupported, .keyNotFound,
            .signature, .weakKey("w"), .invalidKey("i"), .unfitKey("u"), .keySet("k"), .unsealing, .cryptography("c"),
        ]
        #expect(Set(errors.map(\.description)).count == errors.count)
        #expect(errors.allSatisfy { $0.description.hasSuffix(".") })
    }
}
