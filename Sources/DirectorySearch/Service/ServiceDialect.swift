import HTTPExchange

/// The differences between directories at the level of requests.
///
/// Retries, token refresh, time budget and the token's origin are the same for all.
struct ServiceDialect: Sendable {
    /// The name of the service; `nil` if only its host is known.
    var name: String?
    /// Whether requests have an identifier and the number of the attempt, as Microsoft Graph requires.
    var namesRequests: Bool
    /// Adds the service's own error to the error that results from the status.
    var explain: @Sendable (inout DirectoryError, HTTPResponse) -> Void

    /// Microsoft Graph, whose error is already parsed.
    static let graph = ServiceDialect(name: "Microsoft Graph", namesRequests: true) { _, _ in }
}
