import LodgePlatform
import StrictJSON

/// A request to the directory, separate or in a batch.
struct GraphRequest: Sendable {
    var method: String
    /// The path after the version, percent-encoded, such as `/users/ada%40contoso.example`.
    var path: String
    var query: String?
    var consistencyLevel: String?
    /// The URL before the path: `http://127.0.0.1:1/v1.0`.
    var base: String
    /// Whether the request has `Prefer: return=minimal`.
    var prefersMinimal = false

    /// Returns the start of a response with this context.
    func context(_ fragment: String) -> JSONObject { ["@odata.context": .string("\(base)/$metadata#\(fragment)")] }

    /// The query options, or `nil` if they are not percent-encoded UTF-8.
    var options: FormFields? { FormFields(parsing: query ?? "") }

    var isEventual: Bool { consistencyLevel?.lowercased() == "eventual" }

    /// The cost in resource units.
    ///
    /// Two for a list of users and one for all other resources; one less with `$select`, one less with `$top` below 20,
    /// one more with `$expand`, and at least one.
    var resourceUnits: Int {
        let segments = path.split(separator: "/")
        var units = segments.count == 1 && segments[0].lowercased() == "users" ? 2 : 1
        guard let options else { return units }
        if options.option("select") != nil { units -= 1 }
        if let top = options.option("top").flatMap({ Int($0) }), top < 20 { units -= 1 }
        if options.option("expand") != nil { units += 1 }
        return max(1, units)
    }
}

enum GraphResponse: Sendable {
    case json(JSONObject)
    /// A list, whose `value` and `@odata.nextLink` an injected error may change.
    case list(JSONObject)
    case text(String)
    /// A picture with its media type.
    case content(Data, type: String)
    /// Restore the user at this position. The response applies if that succeeds.
    case restoration(Int, JSONObject)
    /// Permanently delete the deleted user at this position.
    case purge(Int)
    case failure(GraphFailure)
}

struct GraphFailure: Error, Sendable, Equatable {
    var status: Int
    var code: String
    var message: String
    /// The URL for a full synchronization, for 410.
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

    static let throttled = GraphFailure(status: 429, code: "TooManyRequests", message: "Please retry again later.")

    static let wrongMethod = GraphFailure(
        status: 405, code: "Request_BadRequest", message: "Specified HTTP method is not allowed.")

    static let noMailbox = GraphFailure(
        status: 404, code: "ErrorNonExistentMailbox", message: "The SMTP address has no mailbox associated with it.")

    static let noPhoto = GraphFailure(status: 404, code: "ImageNotFound", message: "The photo wasn't found.")

    static let notImplemented = GraphFailure(
        status: 501, code: "NotImplemented", message: "This operation target is not yet supported.")

    static func unauthenticated(_ message: String) -> GraphFailure {
        GraphFailure(status: 401, code: "InvalidAuthenticationToken", message: message)
    }

    func json(requestID: String, clientRequestID: String, date: String) -> JSONObject {
        var inner: JSONObject = [
            "date": .string(date), "request-id": .string(requestID), "client-request-id": .string(clientRequestID),
        ]
        if status == 429 {
            // The gateway before the directory repeats its error.
            inner.append("code", "429")
            inner.append("message", "Please retry after")
            inner.append("status", "429")
        }
        return [
            "error": ["code": .string(code), "message": .string(message), "innerError": .object(inner)]
        ]
    }
}
