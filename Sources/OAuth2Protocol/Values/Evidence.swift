import StrictJSON

/// The value that a check rejected: the claim or parameter, the expected value and the received value.
///
/// Values are safe to print: quoted, escaped and at most 200 characters long. A secret value, such as a nonce or a
/// state, is never part of it.
package struct Evidence: Sendable, Equatable, CustomStringConvertible {
    /// The name of the claim, header member or parameter.
    package let name: String
    /// The expected value, or `nil` if it is secret.
    package let expected: String?
    /// The received value, or `nil` if it is secret.
    package let received: String?

    /// Creates evidence with printable values.
    init(_ name: String, expected: String? = nil, received: String? = nil) {
        self.name = name
        self.expected = expected
        self.received = received
    }

    /// Creates evidence with a received JSON value.
    init(_ name: String, expected: String? = nil, received: JSONValue?) {
        self.init(name, expected: expected, received: Self.visible(received))
    }

    /// Returns a JSON value as a printable string, or "nothing" if the value is missing.
    static func visible(_ value: JSONValue?) -> String {
        guard let value else { return "nothing" }
        if let text = value.string { return quoted(text) }
        let text = value.text().unicodeScalars
        return text.count <= 200 ? String(text) : String(text.prefix(200)) + "…"
    }

    /// Name and values, such as `iss: expected "https://a.example", received "https://b.example"`.
    package var description: String {
        let values = [expected.map { "expected \($0)" }, received.map { "received \($0)" }].compactMap(\.self)
        return values.isEmpty ? name : "\(name): " + values.joined(separator: ", ")
    }
}
