import LodgePlatform
import HTTPExchange
import StrictJSON

extension DirectoryClient {
    /// A request below the base or at a URL from the service. Requests only read, so they can be retried.
    struct Request: Sendable {
        /// The absolute URL.
        var url: String
        /// The content, sent by POST, or `nil` for a GET.
        var body: JSONValue?
        /// The media type of the content.
        var contentType = "application/json"
        /// The media type of the response.
        var accept = "application/json"
        /// Whether it is an advanced query.
        var isAdvanced = false
        /// The permissions that the request needs, for the message of a 403.
        var permissions: [String]
        /// The value of the field `Prefer` (RFC 7240).
        var preference: String?
    }

    /// Returns the request of a plan.
    func request(for plan: QueryPlan) -> Request {
        Request(
            url: "\(base)/\(plan.target)", accept: plan.accept, isAdvanced: plan.isAdvanced,
            permissions: plan.permissions, preference: plan.preference)
    }

    /// A response of status 200.
    struct Response: Sendable {
        var http: HTTPResponse
        var clientRequestID: String
        /// The token that the service accepted.
        var token = ""
        /// Whether the service rejected the first attempt, or a connection failed.
        var wasRetried = false

        /// Returns the response as an object.
        func object() throws(DirectoryError) -> JSONObject {
            let value: JSONValue
            do {
                value = try JSONValue(parsing: http.body)
            } catch {
                throw unreadable("it is not JSON")
            }
            guard let object = value.object else { throw unreadable("it is \(value.kind)") }
            return object
        }

        /// Returns the response as one user.
        func user() throws(DirectoryError) -> User {
            let object = try object()
            // A list or an error with status 200 is not a user.
            if case .array? = object["value"] { throw unreadable("it is a list, not one person") }
            if case .object? = object["error"] { throw unreadable("it is an error with status 200") }
            return User(json: object)
        }

        /// Returns the response as an integer in plain text: `893`.
        func number() throws(DirectoryError) -> Int {
            let text = String(decoding: http.body.prefix(64), as: UTF8.self).unicodeScalars
                .split { $0.properties.isWhitespace || $0 == "\u{FEFF}" }.map(String.init).joined(separator: " ")
            guard text.utf8.allSatisfy(\.isDigit), let number = Int(text) else {
                throw unreadable("it is not a number")
            }
            return number
        }

        /// Returns the photo in the response, or `nil` if the response is empty.
        func photo() -> UserPhoto? {
            http.body.isEmpty ? nil : UserPhoto(bytes: http.body, mediaType: http.fields["Content-Type"])
        }

        /// Returns the response as an object with a list of objects.
        ///
        /// - Parameter absence: Returns whether an object without the list means an empty list.
        func list(
            _ name: String = "value", absence: (JSONObject) -> Bool = { _ in false }
        ) throws(DirectoryError) -> (members: JSONObject, elements: [JSONSlice]) {
            let text: JSONListText?
            do {
                text = try JSONListText(parsing: http.body, list: name)
            } catch {
                throw unreadable("it is not JSON")
            }
            guard let text else { throw unreadable("it is not an object") }
            guard let elements = text.elements else {
                guard absence(text.members) else { throw unreadable("the list \"\(name)\" is missing") }
                return (text.members, [])
            }
            if let other = elements.first(where: { !$0.isObject }) {
                throw unreadable("the list holds \(other.kind) instead of an object")
            }
            return (text.members, elements)
        }

        /// Returns the error for an unexpected response.
        func unreadable(_ reason: String) -> DirectoryError {
            GraphErrorResponse.unreadable(http, reason, clientRequestID: clientRequestID)
        }
    }
}
