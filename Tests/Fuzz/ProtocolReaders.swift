import HTTPExchange
@testable import OAuth2Protocol
import LodgePlatform
import StrictJSON

let protocolReaders = [
    FuzzReader(
        "token",
        [
            .init("\0{\"access_token\":\"", "a", "\",\"token_type\":\"bearer\"}"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\",\"scope\":\"", "a ", "\"}"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\"", ",\"x\":1", "}"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\"", ",\"scopes\":[]", "}"),
            .init("\u{3}access_token=a", "&a=b"), .init("\u{3}access_token=a", "&a%N=b"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\"", ",\"x%N\":1", "}"),
            .init("\u{3}access_token=", "%41"),
            .init("\u{1}{\"error\":\"invalid_grant\",\"error_description\":\"", "a\\n", "\"}"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\",\"expires_in\":", "9", "}"),
            .init("\0{\"access_token\":\"a\",\"token_type\":\"bearer\",\"id_token\":\"", "a.", "\"}"),
        ], readTokenResponse),
    FuzzReader(
        "challenge",
        [
            .init("", "Bearer "), .init("Bearer ", "a=b,"), .init("Bearer realm=\"", "\\a", "\""), .init("", ","),
            .init("", "a,"), .init("Bearer ", "a=\"b\", "), .init("", "\n"), .init("Negotiate ", "a"),
            .init("Bearer ", "a%N=b,"),
            .init("Bearer claims=\"", "eyJ9", "\""),
        ], readChallenges),
    FuzzReader(
        "redirect",
        [
            .init("http://127.0.0.1/callback?state=s&code=", "a"),
            .init("http://127.0.0.1/callback?", "a=b&", "state=s"),
            .init("http://127.0.0.1/callback?", "%41"), .init("http://127.0.0.1/", "a/"), .init("", "a:"),
            .init("http://127.0.0.1/callback?", "+"), .init("http://127.0.0.1/callback?", "a%N=b&", "state=s&code=c"),
            .init("http://", "["), .init("http://127.0.0.1:", "1"),
        ], readRedirect),
    FuzzReader(
        "discovery",
        [
            .init("{\"issuer\":\"https://op.example.com\",\"x\":[", "\"a\",", "\"b\"]}"),
            .init("{\"issuer\":\"https://op.example.com\"", ",\"a%N\":1", "}"),
            .init("{\"issuer\":\"https://op.example.com", "/a", "\"}"),
            .init("{\"issuer\":\"https://op.example.com\"", ",\"scopes_supported\":[\"a\"]", "}"),
            .init("{\"issuer\":\"https://op.example.com\",\"token_endpoint\":\"https://op.example.com/", "a?", "\"}"),
            .init("{\"issuer\":\"https://op.example.com\",\"token_endpoint\":\"https://op.example.com?", "{", "\"}"),
            .init("{\"keys\":[", "{\"kty\":\"oct\"},", "{}]}"),
        ], readDiscovery),
]

private let statuses = [200, 400, 401, 200, 201, 500, 302, 429]
private let types = [
    "application/json", "application/json", "application/problem+json", "application/x-www-form-urlencoded",
    "application/json;charset=utf-8", "text/html", "", "text/plain",
]

/// Reads a response. The first byte selects the status and the content type.
private func readTokenResponse(_ bytes: [UInt8]) {
    let selector = Int(bytes.first ?? 0) % 8
    let body = Data(bytes.dropFirst())
    let response = HTTPResponse(status: statuses[selector], fields: ["Content-Type": types[selector]], body: body)
    for quirks in [TokenResponse.ResponseQuirks.providers, .strict] {
        do throws(OAuth2Error) {
            let tokens = try TokenResponse.read(response, quirks: quirks)
            require(response.status == 200, "only a success has tokens")
            for token in [tokens.accessToken, tokens.refreshToken, tokens.idToken].compactMap(\.self) {
                require(
                    !token.value.isEmpty && token.value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
                    "a token is printable")
                if token.value.utf8.count > 24 {
                    require(!"\(tokens)".contains(token.value), "no description has a token")
                }
            }
            require((tokens.expiresIn ?? .zero) >= .zero, "a lifetime is not negative")
        } catch { _ = error.description }
    }
    _ = try? Introspection.read(response, now: 0)
    _ = try? UserInfo.read(response, subject: nil)
    _ = try? ClientRegistration.read(response)
    _ = try? PushedAuthorizationResponse.read(response)
    if let device = try? DeviceAuthorization.read(response) {
        require(device.verificationURI.scheme?.lowercased() == "https", "a code is entered at an https address")
    }
}

/// Reads each line as a field.
private func readChallenges(_ bytes: [UInt8]) {
    var fields = HTTPFields()
    for line in bytes.split(separator: 0x0A) {
        fields.append(name: "WWW-Authenticate", value: String(decoding: line, as: UTF8.self))
    }
    for challenge in AuthenticationChallenge.challenges(in: fields) {
        require(!challenge.scheme.isEmpty, "a challenge has a scheme")
        if let claims = challenge.claims {
            require((try? JSONValue(parsing: claims))?.object != nil, "claims are an object")
        }
    }
    _ = HTTPDate.parse(String(decoding: bytes.prefix(100), as: UTF8.self))
}

private func readRedirect(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    if let own = try? RedirectURI(text) {
        require(own.matches(text), "a redirect URI matches itself")
        require(!text.utf8.contains(0x23), "a redirect URI has no fragment")
    }
    guard let uri = try? RedirectURI("http://127.0.0.1/callback"),
        let verifier = CodeVerifier(String(repeating: "v", count: 43)),
        let response = try? AuthorizationResponse(redirect: text)
    else { return }
    let pending = PendingAuthorization(
        state: "s", nonce: nil, verifier: verifier, redirectURI: uri, issuer: "https://op.example.com",
        expectsIssuer: false, scope: [])
    if let code = try? response.code(for: pending) {
        require(!code.value.isEmpty && response.state == "s", "a code comes with the state")
        require(text.lowercased().hasPrefix("http://127.0.0.1/callback?"), "a code comes to the redirect URI")
    }
    require(!"\(response)".utf8.contains(0x3F), "the description has no query")
}

private func readDiscovery(_ bytes: [UInt8]) {
    let response = HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(bytes))
    guard let discovery = try? Discovery(issuer: "https://op.example.com") else { return }
    if let server = try? discovery.read(response) {
        require(server.issuer == "https://op.example.com", "the issuer is the expected one")
        for url in [server.tokenEndpoint, server.authorizationEndpoint].compactMap(\.self) {
            require(url.scheme?.lowercased() == "https" && url.user == nil, "an endpoint is an https address")
        }
    }
    if let authority = try? Discovery(authority: "https://login.microsoftonline.com/common") {
        _ = try? authority.read(response)
    }
    _ = try? ProtectedResource.read(response, resource: "https://api.example.com")
    _ = try? ProtectedResource.read(response, covering: "https://api.example.com/a/b")
    _ = try? JWKSRequest.read(response)
}
