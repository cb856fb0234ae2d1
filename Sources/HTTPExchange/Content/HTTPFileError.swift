/// A file of this machine that could not be read to be sent, or written to keep an answer.
public struct HTTPFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file's path.
    public var path: String
    /// What was expected, what came, and what to do. No secrets.
    public var reason: String

    /// A failure with the file at this path.
    public init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }

    /// The path and the reason.
    public var description: String { "\(path): \(reason)" }
}
