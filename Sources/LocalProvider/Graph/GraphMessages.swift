import StrictJSON

/// A request to the directory, from the wire or out of a batch.
struct GraphRequest: Sendable {
    var method: String
    /// The path after the version, percent-encoded, such as `/users/ada%40contoso.example`.
    var path: String
    /// The raw query.
    var query: String?
    /// The value of `ConsistencyLevel`.
    var consistencyLevel: String?
    /// What is put before a path to make an absolute URL: `http://127.0.0.1:1/v1.0`.
    var base: String

    var isEventual: Bool { consistencyLevel?.lowercased() == "eventual" }
}

/// What the directory answers.
enum GraphAnswer: Sendable {
    case json(JSONObject)
    /// A list and how it may be disturbed by a fault: `value` and `@odata.nextLink` stand in it.
    case list(JSONObject)
    case text(String)
    case failure(GraphFailure)
}

/// An error in Graph's shape.
struct GraphFailure: Error, Sendable, Equatable {
    var status: Int
    var code: String
    var message: String

    static func badRequest(_ message: String) -> GraphFailure {
        GraphFailure(status: 400, code: "Request_BadRequest", message: message)
    }

    static func unsupported(_ message: String) -> GraphFailure {
        GraphFailure(status: 400, code: "Request_UnsupportedQuery", message: message)
    }

    static func malformed(_ message: String) -> GraphFailure {
        GraphFailure(status: 400, code: "BadRequest", message: message)
    }

    static func notFound(_ key: String) -> GraphFailure {
        GraphFailure(
            status: 404, code: "Request_ResourceNotFound",
            message:
                "Resource '\(key)' does not exist or one of its queried reference-property objects are not present.")
    }

    static let denied = GraphFailure(
        status: 403, code: "Authorization_RequestDenied",
        message: "Insufficient privileges to complete the operation.")

    static func unauthenticated(_ message: String) -> GraphFailure {
        GraphFailure(status: 401, code: "InvalidAuthenticationToken", message: message)
    }

    /// The error's JSON.
    func json(requestID: String, clientRequestID: String, date: String) -> JSONObject {
        [
            "error": [
                "code": .string(code), "message": .string(message),
                "innerError": [
                    "date": .string(date), "request-id": .string(requestID),
                    "client-request-id": .string(clientRequestID),
                ],
            ]
        ]
    }
}

/// Who asks, and what the token allows.
struct GraphCaller: Sendable {
    /// The place of the signed-in person; nil for an application of its own.
    var person: Int?
    /// The permissions, without a resource's prefix.
    var permissions: Set<String>

    var readsEverybody: Bool {
        !permissions.isDisjoint(with: ["User.ReadBasic.All", "User.Read.All", "Directory.Read.All"])
    }

    var readsSelf: Bool { readsEverybody || permissions.contains("User.Read") }

    /// Whether only the basic properties of other people are allowed.
    var readsBasicOnly: Bool { permissions.isDisjoint(with: ["User.Read.All", "Directory.Read.All"]) }
}
