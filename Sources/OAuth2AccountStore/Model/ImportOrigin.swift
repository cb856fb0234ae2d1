/// Where an account came from, so that the same file does not bring it twice. Sealed with the record.
struct ImportOrigin: Codable, Sendable, Equatable {
    /// By what the file names it.
    var key: String?
    /// By what its tokens are known again.
    var digest: String
}
