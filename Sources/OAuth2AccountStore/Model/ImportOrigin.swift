/// The origin of an imported account, by which a second import of the file finds it.
struct ImportOrigin: Codable, Sendable, Equatable {
    /// The identifier in the file.
    var key: String?
    /// The digest of its tokens in the file.
    var digest: String
}
