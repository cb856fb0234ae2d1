import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch

/// Creates random sequences of tokens that the parsers know.
private func nonsense(_ pieces: [String], count: Int = 3000) -> [String] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in
        (0..<Int.random(in: 0...9, using: &generator))
            .map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)] }.joined()
    }
}

@Test func `no header field crashes its parser`() {
    let pieces = [
        "Bearer ", "claims", "=", "\"", "\\", ",", " ", "e30=", "eyJhIjoxfQ", "{}", "Thu", "15", "Jan", "-", "2026",
        ":",
        "09:30:00", "T", "Z", "9999999999999999999", ".", "\u{0}", "é", "+", "\t",
    ]
    for text in nonsense(pieces) {
        let wait = retryAfter(text, answeredAt: text, now: testNow)
        #expect(wait.map { $0 >= .zero && $0 <= .seconds(86400) } ?? true, "\(text.debugDescription)")
        _ = ServerDate.graph(text)
    }
}

@Test func `no error body crashes its parser`() {
    let pieces = [
        "{", "}", "[", "]", "\"error\":", "\"code\":", "\"message\":", "\"innerError\":", "\"x\"", "1e999", "null", ",",
        " ",
        "\"\\u001b\"", "\"date\":", "<html>", "\u{FEFF}",
    ]
    for text in nonsense(pieces) {
        let response = HTTPResponse(status: 400, body: Data(text.utf8))
        let error = GraphErrorResponse.error(for: response, clientRequestID: "c", permissions: [], now: testNow)
        #expect(error.kind == .badRequest)
        #expect(error.description.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(text.debugDescription)")
    }
}

@Test func `a URL with the directory's origin has its host, scheme and port`() {
    let pieces = [
        "https://", "http://", "graph.microsoft.com", "evil.example", ":", "443", "80", "/", "\\", "@", "?", "#", "%2E",
        "%40",
        ".", "[", "]", "::1", " ", "\t", "\n", "é", "v1.0",
    ]
    let own = Origin("https://graph.microsoft.com")
    #expect(own != nil)
    for text in nonsense(pieces, count: 5000)
        + nonsense(pieces, count: 5000).map({ "https://graph.microsoft.com" + $0 })
    {
        let address = ODataEscaping.url(text)
        guard Origin(address) == own else { continue }
        let url = URL(string: address)
        #expect(url?.host()?.lowercased() == "graph.microsoft.com", "\(text.debugDescription)")
        #expect(url?.user == nil && url?.password == nil && url?.scheme?.lowercased() == "https")
        #expect(url?.port == nil || url?.port == 443)
        // The rest after the host is a path, query or fragment for every parser.
        let rest = address.dropFirst("https://graph.microsoft.com".count)
        #expect(
            rest.isEmpty || rest.hasPrefix("/") || rest.hasPrefix("?") || rest.hasPrefix("#") || rest.hasPrefix(":443"))
    }
}
