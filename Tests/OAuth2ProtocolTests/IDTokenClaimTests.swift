import JOSE
import LodgePlatform
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the validation of headers and claims with the cases of id-token-claims.json, and the rules for Entra.
struct IDTokenClaimTests {
    static let file = VectorFile("id-token-claims", deep: ["context"])

    @Test(arguments: file.cases())
    func `ID token claims are accepted or rejected as their case says`(vector: VectorCase) throws {
        let context = vector.input["context"]?.object ?? [:]
        var claims = vector.input["claims"]?.object ?? [:]
        for member in (vector.input["set"]?.object ?? [:]).members { claims[member.name] = member.value }
        for name in vector.input.texts("unset") ?? [] { claims[name] = nil }
        let validation = try Self.validation(context)
        let now = try #require(context["now"]?.number?.double)
        do {
            let token = try validation.check(header: vector.input["header"]?.object ?? [:], claims: claims, now: now)
            #expect(vector.outcome == "accept")
            #expect(token.subject == claims["sub"]?.string)
        } catch {
            #expect(vector.outcome == "reject", "\(error)")
            #expect(error.kind.rawValue == vector.reason)
        }
    }

    static func validation(_ context: JSONObject) throws -> IDTokenValidation {
        var validation = IDTokenValidation(
            issuer: try #require(context["issuer"]?.string), clientID: try #require(context["client_id"]?.string))
        validation.nonce = context["nonce"]?.string
        validation.algorithms = Set(context.texts("allowed_algs") ?? ["RS256"])
        validation.trustedAudiences = Set(context.texts("trusted_audiences") ?? [])
        validation.maximumAge = context.int("max_age")
        validation.requiredContextClasses = context.texts("required_acr") ?? []
        validation.accessToken = context["access_token"]?.string.map(Secret.init)
        validation.code = context["code"]?.string.map(Secret.init)
        let flow = context["flow"]?.string ?? "code"
        validation.requiresCodeHash = flow == "code id_token"
        validation.requiresAccessTokenHash = flow == "id_token token"
        validation.clockSkew = context["clock_skew_seconds"]?.number?.double ?? 0
        if let original = context["original_id_token_claims"]?.object {
            validation.original = IDToken(
                issuer: try #require(original["iss"]?.string), subject: try #require(original["sub"]?.string),
                claims: original)
        }
        return validation
    }

    @Test func `Entra's issuer template is resolved with the token's tid`() throws {
        let issuer = "https://login.microsoftonline.com/{tenantid}/v2.0"
        let validation = IDTokenValidation(issuer: issuer, clientID: "c")
        let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
        func claims(_ tenant: String?, issuer: String = "72f988bf-86f1-41af-91ab-2d7cd011db47") -> JSONObject {
            var claims: JSONObject = [
                "iss": .string("https://login.microsoftonline.com/\(issuer)/v2.0"), "sub": "s", "aud": "c", "exp": 100,
                "iat": 0,
            ]
            if let tenant { claims["tid"] = .string(tenant) }
            return claims
        }
        let token = try validation.check(header: ["alg": "RS256"], claims: claims(tenant), now: 0)
        #expect(token.issuer == "https://login.microsoftonline.com/\(tenant)/v2.0")
        for tenant in ["72f988bf-86f1-41af-91ab-2d7cd011db48", "", nil] {
            #expect(
                rejectedKind { () throws(IDTokenError) in
                    try validation.check(header: ["alg": "RS256"], claims: claims(tenant), now: 0)
                } == .issuerMismatch)
        }
        // The tenant in the issuer must be a GUID, even if `tid` has the same value.
        #expect(
            rejectedKind { () throws(IDTokenError) in
                try validation.check(header: ["alg": "RS256"], claims: claims("t1", issuer: "t1"), now: 0)
            } == .issuerMismatch)
    }

    @Test(arguments: [
        ("common", true, true), ("organizations", true, false), ("consumers", false, true),
        ("72f988bf-86f1-41af-91ab-2d7cd011db47", true, false), ("contoso.com", true, true),
    ])
    func `an ID token must be from a tenant of the Entra authority`(path: String, organization: Bool, personal: Bool) {
        var validation = IDTokenValidation(
            issuer: "https://login.microsoftonline.com/{tenantid}/v2.0", clientID: "c")
        validation.tenants = EntraTenants(authority: "https://login.microsoftonline.com/\(path)")
        func isAccepted(_ tenant: String) -> Bool {
            let claims: JSONObject = [
                "iss": .string("https://login.microsoftonline.com/\(tenant)/v2.0"), "tid": .string(tenant), "sub": "s",
                "aud": "c", "exp": 100, "iat": 0,
            ]
            return (try? validation.check(header: ["alg": "RS256"], claims: claims, now: 0)) != nil
        }
        #expect(isAccepted("72f988bf-86f1-41af-91ab-2d7cd011db47") == organization)
        #expect(isAccepted("9188040d-6c67-4c5b-b112-36a304b66dad") == personal)
    }

    @Test func `a key with an issuer verifies only tokens of that issuer`() throws {
        let tenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"
        let issuer = "https://login.microsoftonline.com/\(tenant)/v2.0"
        var key = try JWK.generate(for: .es256, keyID: "k")
        let token = try JWT.sign(
            [
                "iss": .string(issuer), "tid": .string(tenant), "sub": "s", "aud": "c", "exp": 100, "iat": 0,
            ], with: key, algorithm: .es256)
        var validation = IDTokenValidation(
            issuer: "https://login.microsoftonline.com/{tenantid}/v2.0", clientID: "c")
        validation.algorithms = ["ES256"]
        validation.tenants = .all
        for (owner, isAccepted) in [
            (nil, true), ("https://login.microsoftonline.com/{tenantid}/v2.0", true), (issuer, true),
            ("https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0", false),
        ] {
            key.issuer = owner
            let keys = try JWKSet(parsing: JSONValue.object(JWKSet([key]).json).serialized())
            let result = Result { () throws(IDTokenError) in
                try validation.validate(Secret(token), keys: keys, now: 0)
            }
            #expect(((try? result.get()) != nil) == isAccepted, "\(String(describing: owner))")
        }
    }

    @Test func `allowsChangedAuthenticationTime permits a new auth_time after a refresh`() throws {
        let vector = try #require(Self.file.cases.first { $0.id == "IT-115" })
        var claims = vector.input["claims"]?.object ?? [:]
        claims["auth_time"] = 1_699_999_995
        claims["nonce"] = nil
        var validation = try Self.validation(vector.input["context"]?.object ?? [:])
        validation.allowsChangedAuthenticationTime = true
        #expect(throws: Never.self) {
            try validation.check(header: ["alg": "RS256"], claims: claims, now: 1_700_000_000)
        }
    }

    @Test func `a refreshed ID token with another nonce or azp is rejected`() throws {
        let vector = try #require(Self.file.cases.first { $0.id == "IT-109" })
        let validation = try Self.validation(vector.input["context"]?.object ?? [:])
        var claims = vector.input["claims"]?.object ?? [:]
        claims["nonce"] = "another"
        #expect(
            rejectedKind { () throws(IDTokenError) in
                try validation.check(header: ["alg": "RS256"], claims: claims, now: 1_700_000_000)
            } == .nonceMismatch)
        claims["nonce"] = nil
        claims["azp"] = "s6BhdRkqt3"
        #expect(
            rejectedKind { () throws(IDTokenError) in
                try validation.check(header: ["alg": "RS256"], claims: claims, now: 1_700_000_000)
            } == .authorizedPartyMismatch)
    }
}
