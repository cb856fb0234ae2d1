import HTTPExchange

/// The differences between directories at the level of requests. Retries, token refresh, budget and the token's origin are the
/// same for all.
struct ServiceDialect: Sendable {
    /// The name of the service; `nil` if only its host is known.
    var name: String?
    /// Whether requests carry an identifier and the number of the attempt, as Microsoft Graph requires.
    var namesRequests: Bool
    /// Reads the service's own error into the error that the status alone gave.
    var explain: @Sendable (inout DirectoryError, HTTPResponse) -> Void

    /// Microsoft Graph, whose error is read already.
    static let graph = ServiceDialect(name: "Microsoft Graph", namesRequests: true) { _, _ in }
}
