/// A string that must never be shown: a token, a code, a client secret.
///
/// Its descriptions, its mirror and string interpolation show ``mask`` instead. Use ``value`` only to send or seal it.
public struct Secret: Sendable, Hashable {
    /// The replacement for every secret. It does not reveal the secret or its length.
    public static let mask = "••••"

    /// The secret string.
    public let value: String

    /// Creates a secret from a string.
    public init(_ value: String) { self.value = value }
}

extension Secret: Codable {
    /// Creates a secret from its plain value. Types with secrets are encoded only to be sealed.
    public init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the plain value. Types with secrets are encoded only to be sealed.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension Secret: Redacted {
    /// The mask.
    public var description: String { Self.mask }
}

/// A type whose content must not appear in a log.
///
/// Its `description` contains no secret, and `dump`, a debugger and string interpolation print only that.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
