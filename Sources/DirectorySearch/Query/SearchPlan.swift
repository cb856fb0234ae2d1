/// A query with its request to one kind of directory. It is planned once, before the first request.
public struct SearchPlan: Sendable, Equatable {
    enum Request: Sendable, Equatable {
        case graph(QueryPlan)
        /// The request to a directory with cursors: SCIM or Google.
        case cursor(DirectoryRequest)
    }

    /// The query.
    public let query: UserQuery
    let request: Request

    init(_ query: UserQuery, _ request: Request) {
        self.query = query
        self.request = request
    }

    /// Creates the plan of a query for Microsoft Graph.
    ///
    /// - Throws: The same errors as ``UserQuery/plan()``.
    public init(_ query: UserQuery) throws(DirectoryError) { self.init(query, .graph(try query.plan())) }

    /// Returns the request as a string, without the access token.
    ///
    /// - Parameter base: The directory's URL without a trailing slash.
    public func description(base: String) -> String {
        switch request {
        case .graph(let plan): plan.description(base: base)
        case .cursor(let request): request.description(base: base)
        }
    }
}
