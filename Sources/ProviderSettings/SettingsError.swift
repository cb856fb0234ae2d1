import Platform

/// What is wrong with the settings: where, what was expected and what stood there.
public struct SettingsError: Error, Sendable, Equatable {
    /// The file, or what stands in its place.
    public var file: String
    /// The key, as a path: `types.graph.clientId`; nil when the file as a whole is meant.
    public var key: String?
    /// What was expected.
    public var expected: String
    /// What stood there. Never a secret.
    public var found: String
    /// What to do, when there is more to say than to change the key.
    public var hint: Hint?

    /// A fault.
    public init(file: String, key: String? = nil, expected: String, found: String, hint: Hint? = nil) {
        self.file = file
        self.key = key
        self.expected = expected
        self.found = found
        self.hint = hint
    }
}

extension SettingsError: CustomStringConvertible {
    /// File, key, expected and found, in a line.
    public var description: String {
        let location = key.map { "\(file): \($0)" } ?? file
        return "\(location): expected \(expected), found \(found)"
    }
}
