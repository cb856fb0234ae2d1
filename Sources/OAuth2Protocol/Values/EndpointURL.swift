import LodgePlatform
import HTTPExchange

/// The rules for every URL that receives secrets.
package enum EndpointURL {
    /// Returns the URL in a string if it is absolute, uses https, and has a host, but no user, password, fragment or
    /// white space. Plain HTTP requires loopback, and `allowsLoopbackHTTP`.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` with the name and the reason.
    package static func check(_ text: String, name: String, allowsLoopbackHTTP: Bool) throws(OAuth2Error) -> URL {
        func rejection(_ expected: String) -> OAuth2Error {
            .configuration("\(name) is \(text.isEmpty ? "empty" : quoted(text)); expected \(expected)")
        }
        guard let url = url(text), let scheme = url.scheme?.lowercased(),
            let host = url.host(percentEncoded: true), !host.isEmpty
        else { throw rejection("an absolute https URL") }
        guard url.user == nil, url.password == nil else {
            // The text can contain a password.
            throw .configuration("\(name) contains a user or a password; expected a URL without them")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw rejection("a URL without a fragment") }
        switch scheme {
        case "https": return url
        case "http" where url.isLoopback:
            guard allowsLoopbackHTTP else { throw rejection("https; plain http is not allowed, even on this machine") }
            return url
        case "http": throw rejection("https; plain http is only for this machine")
        default: throw rejection("an https URL")
        }
    }

    /// Returns a checked URL as its origin and the rest.
    static func split(_ text: String) -> (origin: String, path: String) {
        let start = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        let end = text[start...].firstIndex { $0 == "/" || $0 == "?" } ?? text.endIndex
        return (String(text[..<end]), String(text[end...]))
    }

    /// Returns the URL unchanged, except that characters that a query may not contain are percent-encoded.
    private static func url(_ text: String) -> URL? {
        if let url = URL(string: text, encodingInvalidCharacters: false) { return url }
        guard let mark = text.firstIndex(of: "?") else { return nil }
        let query = PercentEncoding.encode(text[text.index(after: mark)...].utf8) { byte in
            PercentEncoding.isUnreserved(byte) || ":/?@!$&'()*+,;=%#".utf8.contains(byte)
        }
        return URL(string: text[...mark] + query, encodingInvalidCharacters: false)
    }
}
