import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published WWW-Authenticate fields.
struct AuthenticationChallengeTests {
    static let file = VectorFile("www-authenticate")
    static let fields = file.cases { $0.expect["decision"] == nil }
    static let decisions = file.cases { $0.expect["decision"] != nil }

    @Test(arguments: fields)
    func `a WWW-Authenticate field is parsed as its case says`(vector: VectorCase) throws {
        let found = AuthenticationChallenge.challenges(in: Self.fields(vector))
        switch vector.outcome {
        case "any": break
        case "malformed": #expect(found.isEmpty)
        case "challenges":
            let wanted = try #require(vector.expect["challenges"]?.array).compactMap(\.object)
            #expect(found.count == wanted.count)
            for (challenge, wanted) in zip(found, wanted) {
                #expect(challenge.scheme == wanted["scheme"]?.string)
                #expect(challenge.token68 == wanted["token68"]?.string)
                let parameters = (wanted["params"]?.object ?? [:]).members.map { ($0.name, $0.value.string ?? "") }
                #expect(challenge.parameters == Dictionary(uniqueKeysWithValues: parameters))
            }
        default: Issue.record("unknown outcome \(vector.outcome)")
        }
    }

    @Test(arguments: decisions)
    func `a resource response is handled as its case says`(vector: VectorCase) throws {
        var fields = Self.fields(vector)
        if let nonce = vector.input["dpop_nonce_header"]?.string { fields["DPoP-Nonce"] = nonce }
        // The nonce cases are from a client that sent a DPoP token.
        let isDPoP = vector.input["dpop_nonce_header"] != nil || vector.input["token_type"]?.string == "dpop"
        let answer = ResourceResponse.decide(
            HTTPResponse(status: vector.input.int("status") ?? 401, fields: fields),
            tokenType: isDPoP ? "dpop" : "bearer", hasRefreshToken: vector.input["has_refresh_token"]?.bool ?? false,
            isRetry: vector.input["already_retried"]?.bool ?? false)
        #expect(vector.outcome == "decision")
        let decision = try #require(vector.expect["decision"]?.object)
        switch (decision["action"]?.string, answer) {
        case ("refresh_and_retry_once", .refreshAndRetry), ("return_response", .deliver): break
        case ("retry_once_with_nonce", .retryWithNonce(let nonce)): #expect(nonce == decision["nonce"]?.string)
        case ("fail", .rejected(let error)):
            if let code = decision["error"]?.string { #expect(error?.code.rawValue == code) }
        case ("reauthorize", .needsSignIn(let error, let classes, _)):
            #expect(error.code.rawValue == decision["error"]?.string)
            #expect(classes == decision.texts("acr_values"))
        default: Issue.record("decided \(answer)")
        }
    }

    static func fields(_ vector: VectorCase) -> HTTPFields {
        var fields = HTTPFields()
        for line in vector.input.texts("headers") ?? [] { fields.append(name: "WWW-Authenticate", value: line) }
        return fields
    }

    @Test func `only a challenge with the scheme of the token leads to a refresh`() {
        for (type, field) in [("dpop", "Bearer realm=\"x\""), ("bearer", "Basic realm=\"x\"")] {
            let answer = ResourceResponse.decide(
                HTTPResponse(status: 401, fields: ["WWW-Authenticate": field]), tokenType: type, hasRefreshToken: true,
                isRetry: false)
            #expect(answer == .rejected(nil))
        }
    }

    @Test func `a missing scope is reported and not requested automatically`() {
        let fields: HTTPFields = ["WWW-Authenticate": #"Bearer error="insufficient_scope", scope="a b""#]
        let answer = ResourceResponse.decide(
            HTTPResponse(status: 403, fields: fields), hasRefreshToken: true, isRetry: false)
        #expect(answer == .needsScope(["a", "b"]))
    }

    @Test func `Entra's claims challenge returns the claims for the sign-in`() throws {
        let fields: HTTPFields = [
            "WWW-Authenticate": #"Bearer realm="", error="insufficient_claims", claims="eyJhIjoxfQ==""#
        ]
        let answer = ResourceResponse.decide(
            HTTPResponse(status: 401, fields: fields), hasRefreshToken: true, isRetry: false)
        guard case .needsSignIn(let error, _, _) = answer else {
            Issue.record("decided \(answer)")
            return
        }
        #expect(error.claims == #"{"a":1}"#)
    }

    @Test func `a duplicate challenge parameter is ignored`() {
        let fields: HTTPFields = ["WWW-Authenticate": #"Bearer error="a", error="b", error="c", realm="r""#]
        #expect(AuthenticationChallenge.challenges(in: fields).map(\.parameters) == [["realm": "r"]])
    }

    @Test func `a field that is too long has no challenges`() {
        let fields: HTTPFields = ["WWW-Authenticate": "Bearer a=" + String(repeating: "x", count: 1 << 20)]
        #expect(AuthenticationChallenge.challenges(in: fields).isEmpty)
    }
}
