/// The permissions of an access token: scope tokens in order, without duplicates, compared case-sensitively.
///
/// [RFC 6749 section 3.3](https://www.rfc-editor.org/rfc/rfc6749#section-3.3)
public struct Scope: Sendable, Hashable, Codable, ExpressibleByArrayLiteral {
    /// The scope tokens.
    public let tokens: [String]

    /// Creates a scope from these tokens, each once.
    public init(_ tokens: some Sequence<String>) {
        var seen = Set<String>()
        self.tokens = tokens.filter { seen.insert($0).inserted }
    }

    /// Creates a scope from a string with space-separated tokens.
    public init(parsing text: String) {
        self.init(text.split(separator: " ").map(String.init))
    }

    /// Creates a scope from these tokens.
    public init(arrayLiteral elements: String...) { self.init(elements) }

    /// The tokens, separated by spaces, as in a request.
    public var text: String { tokens.joined(separator: " ") }

    /// Whether there are no tokens.
    public var isEmpty: Bool { tokens.isEmpty }

    /// Returns whether the scope contains this token.
    public func contains(_ token: String) -> Bool { tokens.contains(token) }

    /// Returns whether the scope contains every token of `other`.
    public func covers(_ other: Scope) -> Bool { Set(other.tokens).isSubset(of: tokens) }

    /// Returns a scope with the tokens of both scopes.
    public func union(_ other: Scope) -> Scope { Scope(tokens + other.tokens) }

    /// The first invalid token, or `nil`. A token consists of printable ASCII characters except space, `"` and `\`.
    package var firstInvalidToken: String? {
        tokens.first { token in
            token.isEmpty
                || !token.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
        }
    }

    /// Throws an error if a token is invalid.
    func check() throws(OAuth2Error) {
        guard let token = firstInvalidToken else { return }
        throw .configuration(
            "the scope token \(quoted(token)) has invalid characters; expected printable ASCII "
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
