import Platform
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
    /// Whether `Prefer: return=minimal` was sent.
    var prefersMinimal = false

    var isEventual: Bool { consistencyLevel?.lowercased() == "eventual" }
}

/// What the directory answers.
enum GraphResponse: Sendable {
    case json(JSONObject)
    /// A list and how it may be disturbed by a fault: `value` and `@odata.nextLink` stand in it.
    case list(JSONObject)
    case text(String)
    /// A picture and its type.
    case content(Data, type: String)
    /// The person at this place is to be restored; the answer if that works.
    case restoration(Int, JSONObject)
    /// The deleted person at this place is to be deleted for good.
    case purge(Int)
    case failure(GraphFailure)
}

/// An error in Graph's shape.
struct GraphFailure: Error, Sendable, Equatable {
    var status: Int
    var code: String
    var message: String
    /// Where to begin again, for 410.
    var location: String?

    static let expiredPageToken = GraphFailure(
        status: 400, code: "Directory_ExpiredPageToken",
        message: "The specified page token value has expired and can not be included in your request.")

    static func resync(_ base: String, code: String = "syncStateNotFound") -> GraphFailure {
        GraphFailure(
            status: 410, code: code,
            message: "The sync state is not found. A full synchronization is required.",
            location: "\(base)/users/delta?$deltatoken=")
    }

    static func segment(_ name: String) -> GraphFailure { .malformed("Resource not found for the segment '\(name)'.") }

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
        var inner: JSONObject = [
            "date": .string(date), "request-id": .string(requestID), "client-request-id": .string(clientRequestID),
        ]
        if status == 429 {
            // A refusal of the gate before the directory says itself twice.
            inner.append("code", "429")
            inner.append("message", "Please retry after")
            inner.append("status", "429")
        }
        return [
            "error": ["code": .string(code), "message": .string(message), "innerError": .object(inner)]
        ]
    }
}

/// Who asks, and what the token allows.
struct GraphPrincipal: Sendable {
    /// The place of the signed-in person; nil for an application of its own.
    var person: Int?
    /// The permissions, without a resource's prefix.
    var permissions: Set<String>

    var readsEverybody: Bool {
        !permissions.isDisjoint(with: [
            "User.ReadBasic.All", "User.Read.All", "User.ReadWrite.All", "Directory.Read.All",
            "Directory.ReadWrite.All",
        ])
    }

    /// Whether the other protocols' lists may be read.
    var readsOtherLists: Bool { readsEverybody || permissions.contains("admin.directory.user.readonly") }

    /// Whether groups may be read, and not only their identifiers.
    var readsGroups: Bool {
        !permissions.isDisjoint(with: ["GroupMember.Read.All", "Group.Read.All", "Directory.Read.All"])
    }

    /// Whether accounts may be restored and deleted.
    var writes: Bool { !permissions.isDisjoint(with: ["User.ReadWrite.All", "Directory.ReadWrite.All"]) }

    var readsSelf: Bool { readsEverybody || permissions.contains("User.Read") }

    /// Whether only the basic properties of other people are allowed.
    var readsBasicOnly: Bool { !readsEverything }

    private var readsEverything: Bool {
        !permissions.isDisjoint(with: [
            "User.Read.All", "User.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All",
        ])
    }
}
