import OAuth2Protocol
import StrictJSON
import Testing

/// Returns the check that rejects an ID token, or `nil` if the token is valid.
func rejectedKind(_ validate: () throws(IDTokenError) -> IDToken) -> IDTokenError.Kind? {
    do throws(IDTokenError) {
        _ = try validate()
        return nil
    } catch {
        return error.kind
    }
}

/// Tests that a rejected ID token or redirect reports the name, the expected and the received value, and no secret.
struct EvidenceTests {
    private let claims: JSONObject = ["iss": "https://a.example", "sub": "s", "aud": "c", "exp": 100, "iat": 0]

    private func explanation(_ name: String, _ value: JSONValue?, nonce: String? = nil) -> String {
        var validation = IDTokenValidation(issuer: "https://a.example", clientID: "c")
        validation.nonce = nonce
        validation.clockSkew = 0
        var claims = claims
        claims[name] = value
        do throws(IDTokenError) {
            _ = try validation.check(header: ["alg": "RS256"], claims: claims, now: 50)
            return ""
        } catch {
            return OAuth2Error.idToken(error).description
        }
    }

    @Test(
        arguments: [
            (
                "iss", JSONValue.string("https://b.example"),
                #"iss: expected "https://a.example", received "https://b.example""#
            ),
            ("iss", nil, #"iss: expected "https://a.example", received nothing"#),
            ("aud", ["d", "e"], #"aud: expected "c", received ["d","e"]"#),
            ("azp", "d", #"azp: expected "c", received "d""#),
            ("exp", 40, "exp: expected a time after 50, received 40"),
            ("iat", 60, "iat: expected a time before 50, received 60"),
            ("exp", "soon", #"exp: expected a number of seconds, received "soon""#),
            ("sub", 7, "sub: expected a string, received 7"),
        ] as [(String, JSONValue?, String)])
    func `a rejected claim is reported with its expected and received values`(
        name: String, value: JSONValue?, expected: String
    ) {
        #expect(explanation(name, value).hasSuffix("(\(expected))"))
    }

    @Test func `an algorithm that is not allowed is reported`() throws {
        let validation = IDTokenValidation(issuer: "https://a.example", clientID: "c")
        let error = #expect(throws: IDTokenError.self) {
            try validation.check(header: ["alg": "none"], claims: claims, now: 50)
        }
        #expect(error?.evidence?.description == #"alg: expected one of "RS256", received "none""#)
    }

    @Test func `reported values are shortened and escaped`() {
        let text = explanation("iss", .string("\u{1B}[2J" + String(repeating: "x", count: 5000)))
        #expect(text.utf8.count < 500 && text.contains(#"\u001b[2J"#) && !text.contains("\u{1B}"))
    }

    @Test func `a nonce is not reported`() {
        let text = explanation("nonce", "received-nonce", nonce: "expected-nonce")
        #expect(text.contains("(nonce)") && !text.contains("received-nonce") && !text.contains("expected-nonce"))
    }

    @Test(arguments: [
        (
            "http://127.0.0.1/other?code=c0de&state=s3cret",
            #"redirect_uri: expected "http://127.0.0.1/cb", received "http://127.0.0.1/other""#
        ),
        (
            "http://127.0.0.1/cb?code=c0de&state=s3cret&iss=https://b.example",
            #"iss: expected "https://a.example", received "https://b.example""#
        ),
        ("http://127.0.0.1/cb?code=c0de&state=s3cret", #"iss: expected "https://a.example", received nothing"#),
        ("http://127.0.0.1/cb?code=c0de&state=another", "state"),
        ("http://127.0.0.1/cb?code=c0de&code=c0de&state=s3cret", "code"),
    ])
    func `a rejected redirect is reported with both values and without secrets`(address: String, expected: String)
        throws
    {
        let pending = PendingAuthorization(
            state: "s3cret", nonce: nil, verifier: CodeVerifier(random: Array(repeating: 1, count: 32)),
            redirectURI: try RedirectURI("http://127.0.0.1/cb"), issuer: "https://a.example", expectsIssuer: true,
            scope: Scope([]))
        let error = #expect(throws: OAuth2Error.self) {
            try AuthorizationResponse(redirect: address).code(for: pending)
        }
        let text = error?.description ?? ""
        #expect(text.hasSuffix("(\(expected))"))
        #expect(!text.contains("s3cret") && !text.contains("c0de") && !text.contains("another"))
    }
}
