import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import LocalProvider

/// The result of a request as the transport reports it.
private enum Outcome: Equatable {
    case status(Int)
    case failure(HTTPTransportError.Kind)
}

private func outcome(_ request: HTTPRequest) async throws -> (Outcome, HTTPResponse?) {
    do {
        let response = try await transport.send(request)
        return (.status(response.status), response)
    } catch let error as HTTPTransportError {
        return (.failure(error.kind), nil)
    }
}

private func refreshRequest(_ signIn: SignIn, _ token: String, timeout: Duration) throws -> HTTPRequest {
    let url = try #require(URL(string: signIn.provider.issuer.absoluteString + "/token"))
    var request = HTTPRequest(
        .post, url, fields: ["Content-Type": "application/x-www-form-urlencoded"],
        body: Data("grant_type=refresh_token&client_id=lodge&refresh_token=\(token)".utf8))
    request.timeout = timeout
    return request
}

@Test(
    arguments: [
        (InjectedErrors.Name.tokenHTML, Outcome.status(200), nil), (.tokenHalfJSON, .status(200), nil),
        (.tokenHuge, .failure(.responseTooLarge), nil), (.tokenNothing, .failure(.connectionLost), nil),
        (.tokenStall, .failure(.timedOut), nil), (.tokenSlow, .failure(.timedOut), nil),
        (.token500, .status(500), "server_error"),
        (.token503, .status(503), nil),
        (.token429, .status(429), "slow_down"), (.tokenInvalidGrant, .status(400), "invalid_grant"),
        (.tokenInvalidClient, .status(401), "invalid_client"),
        (.tokenTemporarilyUnavailable, .status(400), "temporarily_unavailable"),
    ] as [(InjectedErrors.Name, Outcome, String?)])
private func `an injected token endpoint error occurs once`(
    name: InjectedErrors.Name, expected: Outcome, error: String?
) async throws {
    let signIn = SignIn(try await provider())
    let tokens = try await signIn.tokens()
    var injectedErrors = InjectedErrors()
    injectedErrors.add(name, count: 1)
    signIn.provider.setInjectedErrors(injectedErrors)
    let (found, response) = try await outcome(
        try refreshRequest(
            signIn, tokens.refreshToken,
            timeout: [.tokenStall, .tokenSlow].contains(name) ? .milliseconds(400) : .seconds(30)))
    #expect(found == expected)
    #expect(response?.json["error"]?.string == error)
    if name == .token429 { #expect(response?.fields["Retry-After"] == "2") }
    if name == .tokenHTML { #expect(response?.fields["Content-Type"]?.hasPrefix("text/html") == true) }
    if name == .tokenHalfJSON {
        #expect(throws: JSONError.self) { _ = try JSONValue(parsing: try #require(response?.body)) }
    }
    #expect(signIn.provider.injectedErrors.entries.map(\.remaining) == [0])
    #expect(signIn.provider.log().last?.injectedError == name)
    // Only the slow response belongs to a request that the provider processed: the refresh token is used.
    #expect(try await signIn.refresh(tokens.refreshToken).status == (name == .tokenSlow ? 400 : 200))
}

@Test(
    arguments: [
        (InjectedErrors.Name.directory401, Outcome.status(401), "InvalidAuthenticationToken"),
        (.directory403, .status(403), "Authorization_RequestDenied"),
        (.directory404, .status(404), "Request_ResourceNotFound"), (.directory429, .status(429), "TooManyRequests"),
        (.directory503, .status(503), "serviceNotAvailable"), (.directoryHTML, .status(504), nil),
        (.directoryCut, .failure(.connectionLost), nil), (.directorySlow, .failure(.timedOut), nil),
        (.directoryForeignNextLink, .status(200), nil), (.directoryNextLinkLoop, .status(200), nil),
        (.directoryEmptyPage, .status(200), nil),
    ] as [(InjectedErrors.Name, Outcome, String?)])
private func `an injected directory error occurs once`(name: InjectedErrors.Name, expected: Outcome, code: String?)
    async throws
{
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    var injectedErrors = InjectedErrors()
    injectedErrors.add(name, count: 1)
    signIn.provider.setInjectedErrors(injectedErrors)
    let url = try #require(URL(string: signIn.provider.issuer.absoluteString + "/v1.0/users?$top=5"))
    var request = HTTPRequest(.get, url, fields: ["Authorization": "Bearer \(token)"])
    request.timeout = name == .directorySlow ? .milliseconds(400) : .seconds(30)
    let (found, response) = try await outcome(request)
    #expect(found == expected)
    #expect(response?.graphCode == code)
    let link = response?.json["@odata.nextLink"]?.string
    switch name {
    case .directory429, .directory503: #expect(response?.fields["Retry-After"] == "2")
    case .directory401: #expect(response?.fields["WWW-Authenticate"]?.hasPrefix("Bearer ") == true)
    case .directoryForeignNextLink: #expect(link?.hasPrefix("https://graph.attacker.example/") == true)
    case .directoryNextLinkLoop: #expect(link == url.absoluteString)
    case .directoryEmptyPage:
        #expect(response?.value.isEmpty == true)
        let next = try await transport.send(
            HTTPRequest(
                .get, try #require(link.flatMap { URL(string: $0) }), fields: ["Authorization": "Bearer \(token)"]))
        #expect(next.value.count == 5)
    default: break
    }
    #expect(try await signIn.get("/v1.0/users?$top=5", token: token).value.count == 5)
}

@Test func `each injected error is listed with a summary`() {
    #expect(InjectedErrors.Name.all.count == 57)
    #expect(Set(InjectedErrors.Name.all).count == 57)
    #expect(InjectedErrors.Name.all.allSatisfy { $0.summary?.isEmpty == false })
}

@Test func `InjectedErrors parses names and counts`() throws {
    var injectedErrors = InjectedErrors()
    try injectedErrors.add(parsing: "token-html")
    try injectedErrors.add(parsing: "directory-429:3")
    #expect(injectedErrors.entries == [.init(.tokenHTML), .init(.directory429, remaining: 3)])
    for text in ["", "token", "token-html:", "token-html:0", "token-html:x", "token-html:1:1"] {
        let error = #expect(throws: InjectedErrors.ParsingError.self) { try injectedErrors.add(parsing: text) }
        #expect(error?.description.isEmpty == false)
    }
    #expect(throws: InjectedErrors.ParsingError.self) { try injectedErrors.add(parsing: "nothing") }
}

@Test func `injected errors occur in order, and unknown names are ignored`() {
    var injectedErrors = InjectedErrors([
        .init(InjectedErrors.Name(rawValue: "token-unknown")), .init(.token500, remaining: 2), .init(.directory401),
        .init(.token503),
    ])
    #expect((0..<4).map { _ in injectedErrors.take("token-")?.name } == [.token500, .token500, .token503, .token503])
    #expect(injectedErrors.take("directory-")?.name == .directory401)
}
