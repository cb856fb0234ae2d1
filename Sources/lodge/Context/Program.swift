enum Program {
    static let name = "lodge"
    static let version = "0.1.0"
    /// The User-Agent of all requests.
    static let userAgent = "\(name)/\(version)"
}
