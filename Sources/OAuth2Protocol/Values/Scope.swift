/// What an access token may be used for: scope tokens in order, without repetition, compared case-sensitively.
///
/// [RFC 6749 section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)
public struct Scope: Sendable, Hashable, Codable, ExpressibleByArrayLiteral {
    /// The scope tokens.
    public let tokens: [String]

    /// Creates a scope of these tokens, each once.
    public init(_ tokens: some Sequence<String>) {
        var seen = Set<String>()
        self.tokens = tokens.filter { seen.insert($0).inserted }
    }

    /// Creates a scope from its form on the wire, where spaces separate the tokens.
    public init(parsing text: String) {
        self.init(text.split(separator: " ").map(String.init))
    }

    /// Creates a scope of these tokens.
    public init(arrayLiteral elements: String...) { self.init(elements) }

    /// The form on the wire: the tokens with a space between.
    public var text: String { tokens.joined(separator: " ") }

    /// Whether there are no tokens.
    public var isEmpty: Bool { tokens.isEmpty }

    /// Returns whether it contains this token.
    public func contains(_ token: String) -> Bool { tokens.contains(token) }

    /// Returns whether it contains every token of `other`.
    public func covers(_ other: Scope) -> Bool { Set(other.tokens).isSubset(of: tokens) }

    /// Returns the tokens of both.
    public func union(_ other: Scope) -> Scope { Scope(tokens + other.tokens) }

    /// The first token that may not be sent: a token consists of printable ASCII without space, `"` and `\`.
    package var firstInvalidToken: String? {
        tokens.first { token in
            token.isEmpty
                || !token.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
        }
    }

    /// Throws if a token may not be sent.
    func check() throws(OAuth2Error) {
        guard let token = firstInvalidToken else { return }
        throw .configuration(
            "the scope token \(quoted(token)) has characters that may not be sent; expected printable ASCII "
                + "without space, quotation mark and backslash")
    }

    /// Creates a scope from a single string of space-separated tokens.
    public init(from decoder: any Decoder) throws {
        self.init(parsing: try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes a single string of space-separated tokens.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
