import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published signed ID tokens, with a key set that can be fetched again once.
struct SignedIDTokenTests {
    static let file = VectorFile("signed-id-tokens", deep: ["context"])
    @Test(arguments: file.cases())
    func `a signed ID token is accepted or rejected as its case says`(vector: VectorCase) throws {
        var cache = JWKSCache()
        let keys = try #require(vector.input["jwks"]?.object)
        cache.store(try JWKSet(keys), now: -1000)
        var fetches = 0
        let result = try Self.validate(vector, cache: &cache, now: 0, fetches: &fetches)
        switch result {
        case .success(let token):
            #expect(vector.outcome == "accept")
            #expect(token.issuer == "https://op.example.com")
        case .failure(let rejection):
            #expect(vector.outcome == "reject", "\(rejection)")
            #expect(rejection.kind.rawValue == vector.reason)
        }
        // Validation never fetches a key that the header names.
        if let effects = vector.expect["side_effects"] {
            #expect(effects == "none")
            #expect(fetches <= 1)
        }
        // Validation receives only the key set: no function uses the location in the header.
        if let locations = vector.expect.texts("must_not_fetch") {
            let header = try JWT(parsing: try #require(vector.input["token"]?.string)).header
            #expect(locations == [header["jku"]?.string])
        }
        if let count = vector.expect.int("jwks_fetches") { #expect(fetches == count) }
        if let most = vector.expect.int("jwks_fetches_for_100_tokens_at_most") {
            for _ in 0..<100 { _ = try Self.validate(vector, cache: &cache, now: 1, fetches: &fetches) }
            #expect(fetches <= most)
        }
    }

    /// Validates as a store does: if a new key set may help, it fetches the keys once more.
    static func validate(
        _ vector: VectorCase, cache: inout JWKSCache, now: Double, fetches: inout Int
    ) throws -> Result<IDToken, IDTokenError> {
        let context = vector.input["context"]?.object ?? [:]
        var validation = try IDTokenClaimTests.validation(context)
        validation.algorithms = Set(vector.input.texts("allowed_algs") ?? [])
        let token = Secret(try #require(vector.input["token"]?.string))
        let secret = vector.input["client_secret"]?.string.map(Secret.init)
        let time = try #require(context["now"]?.number?.double)
        func attempt(_ keys: JWKSet) -> Result<IDToken, IDTokenError> {
            do throws(IDTokenError) {
                return .success(try validation.validate(token, keys: keys, clientSecret: secret, now: time))
            } catch {
                return .failure(error)
            }
        }
        let first = attempt(cache.keys ?? JWKSet())
        guard case .failure(let rejection) = first, rejection.suggestsNewKeys, cache.mayFetch(now: now),
            let newer = vector.input["jwks_after_refetch"]?.object
        else { return first }
        fetches += 1
        cache.store(try JWKSet(newer), now: now)
        return attempt(cache.keys ?? JWKSet())
    }
}

/// Tests secrets for HMAC, which the published tokens do not cover.
struct IDTokenSecretTests {
    @Test func `an HMAC secret that is too short is rejected`() throws {
        let claims: JSONObject = ["iss": "i", "sub": "s", "aud": "c", "exp": 100, "iat": 0]
        let secret = Secret("a secret of at least 32 bytes, as it must")
        let token = Secret(
            try JWT.sign(claims, with: try JWK(secret: Array(secret.value.utf8)), algorithm: .hs256))
        var validation = IDTokenValidation(issuer: "i", clientID: "c")
        validation.algorithms = ["HS256"]
        #expect(throws: Never.self) { try validation.validate(token, keys: JWKSet(), clientSecret: secret, now: 0) }
        #expect(
            rejectedKind { () throws(IDTokenError) in
                try validation.validate(token, keys: JWKSet(), clientSecret: Secret("short"), now: 0)
            } == .weakKey)
        #expect(
            rejectedKind { () throws(IDTokenError) in
                try IDTokenValidation(issuer: "i", clientID: "c").validate(
                    token, keys: JWKSet(), clientSecret: secret, now: 0)
            } == .algorithmNotAllowed)
    }
}

/// Tests the published key sets.
struct JWKSTests {
    static let cases = VectorFile("discovery").cases { $0.kind == "jwks" }

    @Test(arguments: cases)
    func `a key set contains the usable keys of its case`(vector: VectorCase) throws {
        var response = vector.input.response
        response.body = .init(try #require(vector.input["jwks"]).serialized())
        do {
            let keys = try JWKSRequest.read(response)
            #expect(vector.outcome == "accept")
            // The set may contain other keys that cannot verify.
            let usable = keys.keys.filter { key in JWSAlgorithm.asymmetric.contains { key.canVerify($0) } }
            #expect(usable.compactMap(\.keyID) == vector.expect.texts("usable_kids"))
        } catch {
            #expect(vector.outcome == "reject")
            #expect(Outcome(error) == .invalidResponse(vector.reason ?? ""))
        }
    }

    @Test func `keys are requested only from jwks_uri`() throws {
        var server = AuthorizationServer(issuer: "https://as.example.com")
        #expect(throws: OAuth2Error.self) { try JWKSRequest(server: server) }
        server.jwksURI = .init(string: "https://as.example.com/jwks")
        let request = try JWKSRequest(server: server).request
        #expect(request.url == server.jwksURI)
        #expect(request.redirects == .none)
        #expect(request.maximumResponseSize == 1 << 20)
    }

    @Test func `JWKSCache expires and limits how often keys are fetched`() {
        var cache = JWKSCache()
        #expect(cache.isStale(now: 0) && cache.mayFetch(now: 0))
        cache.store(JWKSet(), now: 10)
        #expect(!cache.isStale(now: 309) && cache.isStale(now: 310))
        #expect(!cache.mayFetch(now: 69) && cache.mayFetch(now: 70))
        cache.fetchBegan(now: 400)
        #expect(!cache.mayFetch(now: 459) && cache.isStale(now: 459))
    }
}
