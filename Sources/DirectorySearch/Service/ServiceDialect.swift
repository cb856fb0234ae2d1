import HTTPExchange

/// What directories do differently at the level of requests. Retries, renewal, budget and the token's origin are the same for all.
struct ServiceDialect: Sendable {
    /// Whether requests carry an identifier and the number of the attempt, as Microsoft Graph wants them.
    var namesRequests: Bool
    /// Reads the service's own words for a failure into the error that the status alone gave.
    var explain: @Sendable (inout DirectoryError, HTTPResponse) -> Void

    /// Microsoft Graph: the error is read already.
    static let graph = ServiceDialect(namesRequests: true) { _, _ in }
}

/// Where a directory is, whatever it speaks, and how requests get there and back.
public typealias DirectoryConnection = GraphConnection

extension GraphConnection {
    /// The same connection for a service that speaks otherwise.
    func speaking(_ dialect: ServiceDialect) -> GraphConnection {
        var connection = self
        connection.dialect = dialect
        return connection
    }
}
