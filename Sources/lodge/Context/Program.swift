enum Program {
    static let name = "lodge"
    static let version = "0.1.0"
    /// The user agent of its requests.
    static let userAgent = "\(name)/\(version)"
}
