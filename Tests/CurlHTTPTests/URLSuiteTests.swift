import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import CurlHTTP

private let suite = SharedFolder.url("suites/url")

/// The URLs of the web platform tests. Requests must use the host and port of the URL standard.
@Suite(.enabled(if: suite != nil, "the folder with the published suites does not exist"))
struct URLSuiteTests {
    /// A URL and its origin in the URL standard, or `nil` if it is not an http or https URL.
    private struct Case: Hashable {
        var text: String
        var origin: String?
    }

    private func cases() throws -> [Case] {
        let folder = try #require(suite)
        let list = try JSONValue(parsing: Data(contentsOf: folder.appending(path: "urltestdata.json"))).array ?? []
        var cases = list.compactMap(\.object).map { object in
            let text = object["input"]?.string ?? ""
            // The transport does not accept relative URLs.
            let isAbsolute = object["base"]?.isNull ?? true || text.lowercased().prefixMatch(of: /https?:\/\//) != nil
            return Case(text: text, origin: isAbsolute ? Self.origin(object) : nil)
        }
        let relative = list.compactMap(\.object).filter { $0["base"]?.isNull == false }
        #expect(list.compactMap(\.object).count == 869)
        // The result of a URL with a base is a URL too.
        cases += relative.compactMap { object in
            object["href"]?.string.map { Case(text: $0, origin: Self.origin(object)) }
        }
        let setters = try JSONValue(parsing: Data(contentsOf: folder.appending(path: "setters_tests.json"))).object
        var count = 0
        for member in setters?.members ?? [] where member.name != "comment" {
            for test in member.value.array?.compactMap(\.object) ?? [] {
                count += 1
                guard let expected = test["expected"]?.object, let text = expected["href"]?.string else { continue }
                cases.append(Case(text: text, origin: Self.serializedOrigin(text)))
            }
        }
        // The file has 295 entries: 274 cases and 21 lines of a comment.
        #expect(count == 274)
        return cases
    }

    /// Returns the origin that a case names, with its port.
    private static func origin(_ object: JSONObject) -> String? {
        guard object["failure"] == nil, let scheme = object["protocol"]?.string,
            scheme == "http:" || scheme == "https:",
            let host = object["hostname"]?.string, !host.isEmpty
        else { return nil }
        let port = object["port"]?.string ?? ""
        return "\(scheme)//\(host):\(port.isEmpty ? (scheme == "http:" ? "80" : "443") : port)"
    }

    /// Returns the origin of a URL as the standard serializes it, which is easy to read.
    private static func serializedOrigin(_ text: String) -> String? {
        guard let match = text.wholeMatch(of: /(https?):\/\/(?:[^\/?#]*@)?([^\/?#]*?)(?::(\d+))?(?:[\/?#].*)?/),
            !match.2.isEmpty
        else { return nil }
        return "\(match.1)://\(match.2):\(match.3 ?? (match.1 == "http" ? "80" : "443"))"
    }

    /// Returns an IPv6 address as the standard writes it. The transport compares hosts unchanged.
    private static func canonical(_ host: String) -> String {
        var address = in6_addr()
        guard host.hasPrefix("["), inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address) == 1 else {
            return host
        }
        // The standard writes no IPv4 part.
        let groups = withUnsafeBytes(of: &address) { bytes in
            (0..<8).map { Int(bytes[2 * $0]) << 8 | Int(bytes[2 * $0 + 1]) }
        }
        var longest = 0..<0
        var start = 0
        while start < 8 {
            let end = groups[start...].firstIndex { $0 != 0 } ?? 8
            if end - start > max(1, longest.count) { longest = start..<end }
            start = max(end, start + 1)
        }
        func text(_ range: Range<Int>) -> String { groups[range].map { String($0, radix: 16) }.joined(separator: ":") }
        guard !longest.isEmpty else { return "[\(text(0..<8))]" }
        return "[\(text(0..<longest.lowerBound))::\(text(longest.upperBound..<8))]"
    }

    private static let punycode =
        "Names are sent unchanged; the resolver does not return an address for invalid Punycode."

    /// The URLs that the readers accept although the standard rejects them, with the reason.
    private static let deviations: [String: String] = [
        "http://a.b.c.Xn--pokxncvks": punycode, "http://a.b.c.XN--pokxncvks": punycode,
        "http://a.b.c.xn--pokxncvks": punycode,
        "http://10.0.0.xN--pokxncvks": punycode, "http://10.0.0.XN--pokxncvks": punycode,
        "http://10.0.0.xn--pokxncvks": punycode,
        "https://xn--/": punycode,
    ]

    @Test func `Origin has the host and port of the URL standard`() throws {
        var accepted = 0
        var unexplained: [String: String] = [:]
        for entry in try cases() {
            guard let origin = Origin(entry.text) else { continue }
            accepted += 1
            let found = "\(origin.scheme)://\(Self.canonical(origin.host)):\(origin.port)"
            if found != entry.origin, Self.deviations[entry.text] == nil {
                unexplained[entry.text] = "\(found), expected \(entry.origin ?? "none")"
            }
        }
        #expect(unexplained.isEmpty, "\(unexplained)")
        #expect(accepted > 200)
    }

    @Test func `RequestAddress has the host and port of the URL standard`() throws {
        var accepted = 0
        var unexplained: [String: String] = [:]
        for entry in try cases() {
            guard let url = URL(string: entry.text), let address = try? RequestAddress(url) else { continue }
            accepted += 1
            let found = "\(address.scheme)://\(Self.canonical(address.host)):\(address.port)"
            if found != entry.origin, Self.deviations[entry.text] == nil {
                unexplained[entry.text] = "\(found), expected \(entry.origin ?? "none")"
            }
        }
        #expect(unexplained.isEmpty, "\(unexplained)")
        #expect(accepted > 50)
    }
}
