/// A request that the provider answered. It holds no token, code or secret.
public struct LoggedRequest: Sendable, Equatable {
    /// The method.
    public let method: String
    /// The path, percent-encoded.
    public let path: String
    /// The query, percent-encoded. Only of directory requests: those of the provider itself may hold secrets.
    public let query: String?
    /// The grant type of a token request, when it is one that the provider knows.
    public let grantType: String?
    /// The status of the answer; nil when a fault gave none.
    public let status: Int?
    /// The fault that played.
    public let fault: Faults.Name?
}

/// The last requests, and how many there were.
struct RequestLog: Sendable {
    static let limit = 10_000
    private(set) var entries: [LoggedRequest] = []
    private(set) var tokenRequests: [String: Int] = [:]
    private(set) var total = 0

    mutating func add(_ entry: LoggedRequest) {
        total += 1
        if let grantType = entry.grantType { tokenRequests[grantType, default: 0] += 1 }
        // Half at once, so that a full log does not move for every request.
        if entries.count >= Self.limit { entries.removeFirst(Self.limit / 2) }
        entries.append(entry)
    }
}
