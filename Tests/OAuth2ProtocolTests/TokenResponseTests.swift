import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published token responses.
struct TokenResponseTests {
    static let file = VectorFile("token-responses")

    /// The cases read with the default quirks, because the strict reader rejects quoted numbers, as PQ-022 and PQ-023
    /// require.
    static let lenient: Set<String> = ["TR-051"]

    @Test(arguments: file.cases())
    func `a token response is read as its case says`(vector: VectorCase) throws {
        var expectation = TokenResponse.Expectation()
        expectation.idToken = vector.input["openid_requested"]?.bool ?? false
        if vector.input["client_sent_dpop_proof"]?.bool == true { expectation.tokenTypes.insert("dpop") }
        if vector.input["require_dpop"]?.bool == true { expectation.tokenTypes.remove("bearer") }
        if vector.input["grant"]?.string?.hasSuffix("token-exchange") == true {
            expectation.tokenTypes.insert("n_a")
            expectation.issuedTokenType = true
        }
        let response: TokenResponse
        do {
            response = try TokenResponse.read(
                vector.input.response, expecting: expectation,
                quirks: Self.lenient.contains(vector.id) ? .providers : .strict)
        } catch {
            expectFailure(error, vector.expect)
            return
        }
        expectToken(response, vector.expect)
        let asked = Scope(parsing: vector.input["requested_scope"]?.string ?? "")
        if let granted = vector.expect.texts("granted_scope") {
            #expect(response.grantedScope(requested: asked).tokens == granted)
        }
        if let changed = vector.expect["scope_changed"]?.bool {
            #expect((Set(response.grantedScope(requested: asked).tokens) != Set(asked.tokens)) == changed)
        }
    }
}

/// Checks the tokens that a case expects.
func expectToken(_ response: TokenResponse, _ expect: JSONObject, sourceLocation: SourceLocation = #_sourceLocation) {
    guard expect["outcome"]?.string == "token", let token = expect["token"]?.object else {
        Issue.record("read a token, expected \(expect["outcome"]?.string ?? "")", sourceLocation: sourceLocation)
        return
    }
    #expect(response.accessToken.value == token["access_token"]?.string, sourceLocation: sourceLocation)
    #expect(response.tokenType == token["token_type"]?.string, sourceLocation: sourceLocation)
    #expect(response.refreshToken?.value == token["refresh_token"]?.string, sourceLocation: sourceLocation)
    #expect(response.idToken?.value == token["id_token"]?.string, sourceLocation: sourceLocation)
    #expect(response.scope?.tokens == token.texts("scope"), sourceLocation: sourceLocation)
    if let least = token["expires_in"]?.object?.int("at_least") {
        #expect(response.expiresIn ?? .zero >= .seconds(least), sourceLocation: sourceLocation)
    } else {
        #expect(response.expiresIn == token.int("expires_in").map { .seconds($0) }, sourceLocation: sourceLocation)
    }
    for member in (token["extra"]?.object ?? [:]).members {
        #expect(response.additional[member.name] == member.value, sourceLocation: sourceLocation)
    }
}

/// Tests responses of real providers.
struct ProviderQuirkTests {
    static let file = VectorFile("provider-quirks")
    static let leftOut = [
        "PQ-038": "a separate test covers it", "PQ-054": "a separate test covers it",
    ]

    /// The cases with a placeholder as their ID token. The files of ID tokens test its contents.
    static let withIDToken = file.cases { leftOut[$0.id] != nil }

    @Test(arguments: withIDToken)
    func `a token response with an ID token is valid regardless of additional members`(vector: VectorCase) throws {
        for quirks in [TokenResponse.ResponseQuirks.strict, .providers] {
            var expectation = TokenResponse.Expectation()
            expectation.idToken = true
            var answer = vector.input.response
            let text = String(decoding: answer.body, as: UTF8.self)
            let token = "eyJhbGciOiJSUzI1NiJ9.e30.c2ln"
            answer.body = Data(text.replacing(/<JWT.*>/, with: token).utf8)
            let response = try TokenResponse.read(answer, expecting: expectation, quirks: quirks)
            #expect(response.idToken?.value == token && response.refreshToken != nil)
            // Only the access token has a lifetime here: a refresh token lifetime of 0 has no effect.
            #expect(response.expiresIn == .seconds(vector.id == "PQ-038" ? 300 : 3600))
            let expect = try #require(vector.expect[quirks == .strict ? "strict" : "compat"]?.object)
            #expect(expect["outcome"] == "see_id_token_files")
            if let lifetime = expect["refresh_token_lifetime"] {
                #expect(lifetime == "unknown_or_unlimited")
                #expect(response.additional["refresh_expires_in"]?.number?.int64 == 0)
            }
        }
    }
    static let device: Set<String> = ["PQ-046", "PQ-050"]

    /// The quirks in a provider's settings that the response requires.
    static let profiles: [String: TokenResponse.ResponseQuirks] = [
        "PQ-011": .nestedUserToken, "PQ-020": .zeroLifetimeIsUnknown, "PQ-021": .zeroLifetimeIsUnknown,
        "PQ-034": .camelCaseMembers,
    ]

    static let cases = file.cases(except: leftOut) { !device.contains($0.id) }

    @Test(arguments: cases)
    func `a provider's response is read strictly as its case says`(vector: VectorCase) {
        check(vector, "strict", .strict)
    }

    @Test(arguments: cases)
    func `a provider's response is read with quirks as its case says`(vector: VectorCase) {
        check(vector, "compat", .providers.union(Self.profiles[vector.id] ?? []))
    }

    private func check(_ vector: VectorCase, _ mode: String, _ quirks: TokenResponse.ResponseQuirks) {
        guard let expect = vector.expect[mode]?.object else {
            Issue.record("\(vector.id) has no expectation \(mode)")
            return
        }
        do {
            let response = try TokenResponse.read(vector.input.response, quirks: quirks)
            expectToken(response, expect)
            for member in (expect["extra_exact_number"]?.object ?? [:]).members {
                #expect(response.additional[member.name]?.number?.literal == member.value.string)
            }
        } catch {
            expectFailure(error, expect)
            if let interval = expect.int("new_interval_at_least"), case .provider(let provider) = error {
                #expect(provider.interval == .seconds(interval))
            }
        }
    }

    @Test(arguments: [
        (
            #"{"error":{"message":"The session was invalidated","type":"OAuthException","code":190,"error_subcode":460,"fbtrace_id":"A1"}}"#,
            ErrorCode.invalidGrant, "The session was invalidated"
        ),
        (
            #"{"error":{"message":"This authorization code has been used.","type":"OAuthException","code":100,"error_subcode":36009}}"#,
            .invalidGrant, "This authorization code has been used."
        ),
        (
            #"{"error":{"message":"Service temporarily unavailable","type":"OAuthException","code":2}}"#,
            .temporarilyUnavailable, "Service temporarily unavailable"
        ),
        (
            #"{"error":{"message":"Invalid Client ID","type":"OAuthException","code":101}}"#,
            ErrorCode(rawValue: "OAuthException"), "Invalid Client ID"
        ),
        (
            #"{"error":{"code":400,"message":"Bad subject token","status":"INVALID_ARGUMENT"}}"#,
            ErrorCode(rawValue: "INVALID_ARGUMENT"), "Bad subject token"
        ),
        (
            #"{"errors":[{"errorType":"invalid_grant","message":"Refresh token invalid: abc"}],"success":false}"#,
            .invalidGrant, "Refresh token invalid: abc"
        ),
        (
            #"{"data":{"captcha":"","description":"Authorization code expired","error_code":10007},"message":"error"}"#,
            ErrorCode(rawValue: "10007"), "Authorization code expired"
        ),
    ])
    func `an error in a proprietary format keeps its code and message`(
        body: String, code: ErrorCode, message: String
    ) throws {
        for status in [200, 400] {
            let response = HTTPResponse(
                status: status, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
            let error = #expect(throws: OAuth2Error.self) { try TokenResponse.read(response) }
            guard case .provider(let provider)? = error else {
                Issue.record("got \(String(describing: error))")
                return
            }
            #expect(provider.code == code && provider.explanation == message && provider.status == status)
        }
    }

    @Test func `TikTok's legacy token response has the tokens in data`() throws {
        let response = HTTPResponse.json([
            "data": [
                "access_token": "act", "refresh_token": "rft", "expires_in": 86400, "scope": "user.info.basic",
                "error_code": 0,
            ], "message": "success",
        ])
        let tokens = try TokenResponse.read(response)
        #expect(tokens.accessToken == Secret("act") && tokens.refreshToken == Secret("rft"))
        #expect(tokens.expiresIn == .seconds(86400))
        #expect(throws: OAuth2Error.self) { try TokenResponse.read(response, quirks: .strict) }
    }

    @Test(arguments: [("10010", ErrorCode.invalidGrant), ("10002", ErrorCode(rawValue: "10002"))])
    func `an error of TikTok's legacy endpoint keeps its message`(number: String, code: ErrorCode) throws {
        let body = #"{"data": {"error_code": \#(number), "description": "the reason"}, "message": "error"}"#
        let error = #expect(throws: OAuth2Error.self) {
            try TokenResponse.read(HTTPResponse(status: 200, body: Data(body.utf8)))
        }
        guard case .provider(let error) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(error.code == code && error.explanation == "the reason")
    }

    @Test func `a provider-specific quirk is not accepted by default`() {
        for (id, quirks) in Self.profiles where id != "PQ-020" && id != "PQ-021" {
            guard let vector = Self.cases.first(where: { $0.id == id }) else {
                Issue.record("\(id) does not exist")
                continue
            }
            #expect(throws: OAuth2Error.self) { try TokenResponse.read(vector.input.response, quirks: .providers) }
            #expect(throws: Never.self) {
                try TokenResponse.read(vector.input.response, quirks: .providers.union(quirks))
            }
        }
    }

    @Test func `commas separate scopes only with the quirk for it`() throws {
        let body = #"{"access_token":"a","token_type":"bearer","scope":"repo,gist"}"#
        let response = HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: .init(body.utf8))
        #expect(try TokenResponse.read(response).scope == ["repo,gist"])
        #expect(
            try TokenResponse.read(response, quirks: [.providers, .commaSeparatedScope]).scope == ["repo", "gist"])
    }
}

/// Tests malformed JSON as a token response.
struct MalformedJSONTests {
    static let leftOut = [
        "JM-070": "the transport ends an endless body",
        "JM-071": "the transport limits decompression",
        "JM-074": "the transport rejects a truncated body",
    ]
    /// The cases in which the alternative outcome applies: a Swift string cannot contain a lone surrogate, so the
    /// reader rejects it.
    static let other: Set<String> = ["JM-012"]

    static let cases = VectorFile("json-malformed").cases(except: leftOut)

    @Test(arguments: cases)
    func `malformed JSON returns no token`(vector: VectorCase) throws {
        var response = vector.input.response
        response.fields["Content-Type"] = "application/json"
        if let generator = vector.input["generator"]?.object { response.body = .init(Self.generate(generator).utf8) }
        let result = Result { try TokenResponse.read(response) }
        let expect = Self.other.contains(vector.id) ? try #require(vector.alsoAcceptable) : vector.expect
        switch (expect["outcome"]?.string, result) {
        case ("any", _): break
        case ("token", .success(let token)): #expect(token.accessToken.value == vector.expect["access_token"]?.string)
        case ("reject", .failure): break
        default: Issue.record("expected \(expect), got \(result)")
        }
    }

    private static func generate(_ generator: JSONObject) -> String {
        var text = generator["prefix"]?.string ?? ""
        if let parts = generator["repeat"]?.array, let unit = parts[0].string, let count = parts[1].number?.int64 {
            text += String(repeating: unit, count: Int(count))
        }
        if let parts = generator["repeat_indexed"]?.array, let unit = parts[0].string,
            let count = parts[1].number?.int64
        {
            for index in 0..<count { text += unit.replacing("{i}", with: String(index)) }
        }
        return text + (generator["suffix"]?.string ?? "")
    }
}
