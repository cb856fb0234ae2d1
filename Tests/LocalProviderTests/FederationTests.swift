import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import LocalProvider

private func exchange(_ signIn: SignIn, _ assertion: String, client: String = "lodge-workload") async throws
    -> TokenAnswer
{
    try await signIn.post(
        "/contoso.example/oauth2/v2.0/token",
        [
            "grant_type": "client_credentials", "client_id": client, "scope": "https://graph.example/.default",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": assertion,
        ])
}

@Test func `a JWT of the stand-in for GitHub authenticates the workload`() async throws {
    let signIn = SignIn(try await provider())
    let tokens = try #require(signIn.provider.gitHubEnvironment["ACTIONS_ID_TOKEN_REQUEST_URL"])
    let path = String(tokens.dropFirst(signIn.provider.issuer.absoluteString.count))
    let audience = "&audience=api%3A%2F%2FAzureADTokenExchange"
    #expect(try await signIn.get(path + audience).status == 401)
    let bearer = signIn.provider.gitHubEnvironment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
    let token = try #require(try await signIn.get(path + audience, token: bearer).json["value"]?.string)
    #expect(try await exchange(signIn, token).status == 200)
    let metadata = try await signIn.get("/github/.well-known/openid-configuration").json
    #expect(metadata["issuer"]?.string == signIn.provider.issuer.absoluteString + "/github")
    #expect(try await signIn.get("/github/jwks").json["keys"]?.array?.count == 1)
}

@Test func `issuer, subject and audience of a JWT are compared exactly`() async throws {
    let signIn = SignIn(try await provider())
    let subject = "repo:contoso/app:ref:refs/heads/main"
    for (token, number) in [
        (try signIn.provider.gitHubToken(subject: "repo:contoso/other"), 700213),
        (try signIn.provider.gitHubToken(subject: subject.uppercased()), 7_002_138),
        (try signIn.provider.gitHubToken(audience: "api://azureadtokenexchange"), 700212),
        (try signIn.provider.gitHubToken(lifetime: -1), 700024),
        (String(try signIn.provider.gitHubToken().dropLast(8)) + "AAAAAAAA", 700027), ("x", 50027),
    ] {
        let answer = try await exchange(signIn, token)
        #expect(answer.status >= 400 && answer["error_description"]?.hasPrefix("AADSTS\(number):") == true)
    }
    let other = SignIn(try await provider())
    let foreign = try await exchange(signIn, try other.provider.gitHubToken())
    #expect(foreign["error_description"]?.hasPrefix("AADSTS700211:") == true)
    #expect(try await exchange(signIn, try signIn.provider.gitHubToken(), client: "lodge").status >= 400)
}
