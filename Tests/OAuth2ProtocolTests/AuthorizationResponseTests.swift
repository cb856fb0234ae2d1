import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published redirects.
struct AuthorizationResponseTests {
    static let leftOut = [
        "AR-070": "the store removes the pending sign-in after its redirect"
    ]

    /// The reasons that end a sign-in, although their cases keep it waiting: the state matches, but the issuer is wrong
    /// or missing, so no other response will arrive.
    static let ending: Set = ["iss_mismatch", "iss_missing"]

    static let cases = VectorFile("authorization-responses", deep: ["pending"]).cases(except: leftOut)

    /// Compares redirect URIs with browser requests: Entra suggests `http://localhost`, and a browser requests `/`.
    @Test func `an empty path in a redirect URI equals the root path`() throws {
        let redirect = try RedirectURI("http://localhost:8400")
        #expect(redirect.matches("http://localhost:8400/?code=a"))
        #expect(redirect.matches("http://localhost:8400?code=a"))
        #expect(!redirect.matches("http://localhost:8400/a?code=a"))
        let app = try RedirectURI("com.example.app://host")
        #expect(!app.matches("com.example.app://host/?code=a"))
    }

    @Test(arguments: cases)
    func `a redirect is accepted or rejected as its case says`(vector: VectorCase) throws {
        let pending = vector.input["pending"]?.object ?? [:]
        let kept = PendingAuthorization(
            // This library always has a state: without a state in the case, no response can match.
            state: pending["state"]?.string ?? "one that the case does not have", nonce: nil,
            verifier: CodeVerifier(random: Array(repeating: 7, count: 32)),
            redirectURI: try RedirectURI(try #require(pending["redirect_uri"]?.string)),
            issuer: pending["issuer"]?.string, expectsIssuer: pending["iss_parameter_supported"]?.bool ?? false,
            scope: [])
        do {
            let response = try AuthorizationResponse(redirect: try #require(vector.input["url"]?.string))
            let code = try response.code(for: kept)
            #expect(vector.outcome == "code")
            #expect(code.value == vector.expect["code"]?.string)
            let sent = Dictionary(grouping: response.parameters, by: \.name)
            for member in (vector.expect["params"]?.object ?? [:]).members {
                #expect(sent[member.name]?.map(\.value) == [member.value.string ?? ""])
            }
            // Only the code is returned.
            for name in vector.expect.texts("must_ignore") ?? [] {
                #expect(sent[name]?.first.map { code.value != $0.value } == true, "\(name)")
            }
        } catch {
            let expected = try #require(Outcome(expected: vector.expect), "got \(error)")
            // In this library, an unexpected state is a mismatch.
            let unasked = pending["state"] == .null && expected == .redirect("state_unexpected")
            #expect(Outcome(error) == (unasked ? .redirect("state_mismatch") : expected))
            // A redirect that does not match keeps the sign-in waiting; an error of the provider ends it.
            if let waits = vector.expect["keeps_waiting"]?.bool {
                let ends: Bool
                if case .redirect(let error) = error as? OAuth2Error {
                    ends = error.endsSignIn
                } else {
                    ends = true
                }
                if vector.reason.map(Self.ending.contains) == true {
                    #expect(ends && waits)
                } else {
                    #expect(ends == !waits)
                }
            }
            if case .provider(let error) = error as? OAuth2Error {
                if let needed = vector.expect["needs_interaction"]?.bool {
                    #expect(error.code.needsInteraction == needed)
                }
                if let isForbidden = vector.expect["must_not_open_uri"]?.bool {
                    expectNoLink(error, isForbidden)
                }
            }
        }
    }

    @Test func `additional parameters are decoded as form data`() throws {
        let pairs = try #require(FormEncoding.decode("x=+%25%26%2B%C2%A3%E2%82%AC"))
        #expect(pairs.map(\.value) == [" %&+£€"])
    }

    @Test func `Entra's tenant template accepts the issuer of any one tenant`() {
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
        #expect(AuthorizationResponse.isIssuer("https://login.microsoftonline.com/0a-1/v2.0", of: template))
        #expect(!AuthorizationResponse.isIssuer("https://login.microsoftonline.com/a/b/v2.0", of: template))
        #expect(!AuthorizationResponse.isIssuer("https://login.microsoftonline.com//v2.0", of: template))
        #expect(!AuthorizationResponse.isIssuer("https://evil.example/0a-1/v2.0", of: template))
    }
}
