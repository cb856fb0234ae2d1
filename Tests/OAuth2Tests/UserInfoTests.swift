import HTTPTransport
import StrictJSON
import Testing

@testable import OAuth2

/// The published userinfo answers.
struct UserInfoTests {
    static let leftOut = [
        "UI-013": "signed userinfo answers: not built", "UI-015": "signed userinfo answers: not built",
    ]
    /// The vectors' words for what is told in other words here.
    static let words: [String: Outcome] = ["alg_not_allowed": .invalidResponse("content_type")]

    @Test(arguments: VectorFile("userinfo").cases(except: leftOut))
    func `a userinfo answer is judged as its case says`(vector: VectorCase) throws {
        do {
            let claims = try UserInfo.read(vector.input.response, subject: vector.input["id_token_sub"]?.string)
            #expect(vector.outcome == "accept")
            if let subject = vector.expect["sub"]?.string { #expect(claims.text("sub") == subject) }
            for name in ["name", "email", "updated_at"] where vector.expect[name]?.isNull == true {
                // A claim of another type than the one meant is no claim.
                #expect(name == "updated_at" ? claims[name]?.number == nil : claims.text(name) == nil)
            }
            if vector.expect["email_verified"]?.isNull == true { #expect(claims["email_verified"]?.bool == nil) }
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

    @Test func `the request carries the token in its header alone`() throws {
        var server = AuthorizationServer()
        #expect(UserInfo.request(server: server, accessToken: Secret("t")) == nil)
        server.userinfoEndpoint = .init(string: "https://as.example.com/userinfo")
        let request = try #require(UserInfo.request(server: server, accessToken: Secret("t")))
        #expect(request.fields["Authorization"] == "Bearer t")
        #expect(request.url.absoluteString == "https://as.example.com/userinfo")
    }
}
