import Foundation
import Testing

@testable import DirectorySearch

/// Typed text and its encoding in the URL of a search by given name.
private let typed: [(String, String)] = [
    ("Ada", "%27Ada%27"),
    ("O'Brien", "%27O%27%27Brien%27"),
    ("''", "%27%27%27%27%27%27"),
    ("a&b", "%27a%26b%27"),
    ("50%", "%2750%25%27"),
    ("C#", "%27C%23%27"),
    ("a+b", "%27a%2Bb%27"),
    ("a b", "%27a%20b%27"),
    ("x/y", "%27x%2Fy%27"),
    ("Ünal", "%27%C3%9Cnal%27"),
    ("李", "%27%E6%9D%8E%27"),
    ("👩‍💻", "%27%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB%27"),
    ("%27", "%27%2527%27"),
    ("') or startswith(mail,'", "%27%27%27%29%20or%20startswith%28mail%2C%27%27%27"),
    // A quote with a combining accent is one Character, but the quote must be doubled.
    ("O'\u{301}B", "%27O%27%27%CC%81B%27"),
    ("a\0\r\nb\\\"", "%27a%00%0D%0Ab%5C%22%27"),
]

@Test(arguments: typed)
func `a filter contains the typed text as one literal`(text: String, literal: String) throws {
    let target = try UserQuery(.givenName(startsWith: text), select: ["id"]).requestTarget()
    #expect(target == "users?$filter=startswith%28givenName%2C\(literal)%29&$select=id")
}

@Test func `a server decodes the typed text from the filter`() throws {
    var generator = SystemRandomNumberGenerator()
    let interesting = Array("'%+& #/?\\\"()$=;,aÜ李\u{301}\u{1F469}\0\n".unicodeScalars)
    for _ in 0..<500 {
        var view = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 1...12, using: &generator) {
            view.append(interesting[Int.random(in: 0..<interesting.count, using: &generator)])
        }
        let text = "x" + String(view)
        let target = try UserQuery(.surname(startsWith: text), select: ["id"]).requestTarget()
        #expect(literal(inTarget: target).map(Array.init) == Array(text.utf8), "\(text.debugDescription)")
    }
}

/// Reads the literal as a server does, without shared code: splits at `&`, decodes, and undoubles quotes.
private func literal(inTarget target: String) -> [UInt8]? {
    guard let query = target.split(separator: "?", maxSplits: 1).last,
        let option = query.utf8.split(separator: UInt8(ascii: "&")).first
    else { return nil }
    let start = Array("$filter=".utf8)
    guard option.starts(with: start) else { return nil }
    var bytes: [UInt8] = []
    var rest = Array(option.dropFirst(start.count))[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%") {
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            rest = rest.dropFirst(2)
            bytes.append(value)
        } else {
            // All other bytes must be unreserved characters.
            guard byte != UInt8(ascii: "+"), byte < 0x80 else { return nil }
            bytes.append(byte)
        }
    }
    let before = Array("startswith(surname,'".utf8)
    guard bytes.starts(with: before), bytes.suffix(2) == Array("')".utf8)[...] else { return nil }
    let inner = Array(bytes.dropFirst(before.count).dropLast(2))
    var text: [UInt8] = []
    var index = 0
    while index < inner.count {
        text.append(inner[index])
        if inner[index] == UInt8(ascii: "'") {
            guard index + 1 < inner.count, inner[index + 1] == UInt8(ascii: "'") else { return nil }
            index += 1
        }
        index += 1
    }
    return text
}

@Test(arguments: [
    ("ada@contoso.com", "users/ada@contoso.com"),
    ("87d349ed-44d7-43e1-9a83-5f2406dee5bd", "users/87d349ed-44d7-43e1-9a83-5f2406dee5bd"),
    ("john_gmail.com#EXT#@contoso.com", "users/john_gmail.com%23EXT%23@contoso.com"),
    ("o'brien@contoso.com", "users/o%27brien@contoso.com"),
    ("a/b?c%d e+f@x", "users/a%2Fb%3Fc%25d%20e%2Bf@x"),
    ("../me", "users/..%2Fme"),
    ("$a'b#1@x.com", "users('$a%27%27b%231@x.com')"),
    ("delta", "users('delta')"),
    ("李@contoso.com", "users/%E6%9D%8E@contoso.com"),
])
func `a user path contains the name as one segment or key`(name: String, path: String) throws {
    #expect(try UserPath(name).text == path)
}

@Test(arguments: ["", " ", "\t\n", "\u{3000}"])
func `an empty user name throws emptySearch`(name: String) {
    #expect(throws: DirectoryError(.emptySearch)) { try UserPath(name).text }
}

@Test(arguments: [".", ".."])
func `a dot segment is an invalid user name`(name: String) throws {
    #expect(throws: DirectoryError.self) { try UserPath(name).text }
}

@Test func `ODataEscaping keeps every valid byte of a URL from the service`() {
    let link = "https://graph.microsoft.com/v1.0/users?$skiptoken=X%2744%27&a=b+c'(d);e:f@[g]~%zz"
    #expect(ODataEscaping.url(link) == link)
    #expect(ODataEscaping.url("https://h/a b\"\\ü") == "https://h/a%20b%22%5C%C3%BC")
}
