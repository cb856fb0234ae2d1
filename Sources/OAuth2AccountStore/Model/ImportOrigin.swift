/// The origin of an imported account, so that a second import of the file finds it.
struct ImportOrigin: Codable, Sendable, Equatable {
    /// The identifier in the file.
    var key: String?
    /// The digest of its tokens.
    var digest: String
}
