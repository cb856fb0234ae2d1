import LodgePlatform

/// The error of a file: cannot be read for a request or written with a response.
public struct HTTPFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The path of the file.
    public var path: String
    /// The expected and the actual state, and the remedy. Contains no secrets.
    public var reason: String

    /// Creates an error for the file at this path.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// The path and the reason.
    public var description: String { "\(path): \(reason)" }
}

extension HTTPFileError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot use the file." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
}
