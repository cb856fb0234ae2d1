import LodgePlatform

/// An error in the settings: its location, the expected value and the value that was found.
public struct SettingsError: Error, Sendable, Equatable {
    /// The path of the file, or the source of the settings.
    public var file: String
    /// The path of the key, such as `types.graph.clientId`, or `nil` for the whole file.
    public var key: String?
    /// The expected value, as a phrase.
    public var expected: String
    /// The value that was found. It is never a secret.
    public var found: String
    /// A sentence that tells the user how to solve the problem, if changing the key is not enough.
    public var hint: Hint?

    /// Creates an error.
    package init(file: String, key: String? = nil, expected: String, found: String, hint: Hint? = nil) {
        self.file = file
        self.key = key
        self.expected = expected
        self.found = found
        self.hint = hint
    }

    /// Creates an error of an environment variable. The default hint names the variable.
    package init(variable name: String, expected: String, found: String, hint: Hint? = nil) {
        let action = found == "nothing" ? "set" : "correct"
        self.init(
            file: "environment", key: name, expected: expected, found: found,
            hint: hint ?? "\(action) the variable \(name)")
    }
}

extension SettingsError: CustomStringConvertible {
    /// The file, the key, the expected and the found value in one line.
    public var description: String {
        let location = key.map { "\(file): \($0)" } ?? file
        return "\(location): expected \(expected), found \(found)"
    }
}

extension SettingsError: LocalizedError {
    /// The error in a sentence, for an alert.
    public var errorDescription: String? { "Cannot use the settings." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { (hint?.description ?? "correct the value").sentence }
}
