/// A text that must never be shown: a token, a code, a client secret.
///
/// Its descriptions, its mirror and string interpolation show ``mask`` instead. Read ``value`` where it is sent or sealed.
public struct Secret: Sendable, Hashable {
    /// What is shown in place of every secret. It says nothing of the secret, not even its length.
    public static let mask = "••••"

    /// The text itself.
    public let value: String

    /// Wraps a text.
    public init(_ value: String) { self.value = value }
}

extension Secret: Codable {
    /// Reads the text itself. What holds secrets is encoded only to be sealed.
    public init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the text itself. What holds secrets is encoded only to be sealed.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}

extension Secret: Redacted {
    /// The mask.
    public var description: String { Self.mask }
}

/// A type with contents that must not reach a log: its `description` contains no secret, and `dump`, a debugger and string
/// interpolation print only that.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
