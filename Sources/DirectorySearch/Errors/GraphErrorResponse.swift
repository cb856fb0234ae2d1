import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// Parses error responses. The status decides, then known codes, never the message.
enum GraphErrorResponse {
    /// Returns the error of a response of any status except 200.
    ///
    /// - Parameters:
    ///   - clientRequestID: The identifier in the request, for a response that does not repeat it.
    ///   - permissions: The permissions that the request needs, for a 403.
    static func error(
        for response: HTTPResponse, clientRequestID: String, permissions: [String], now: Date
    ) -> DirectoryError {
        let body = GraphErrorBody(response.body)
        if let intercepted = intercepted(response, clientRequestID: clientRequestID) { return intercepted }
        var error = DirectoryError(kind(of: response, code: body.code, permissions), status: response.status)
        error.code = body.code
        error.message = body.message
        error.requestID = body.requestID ?? clipped(response.fields["request-id"])
        error.clientRequestID =
            body.clientRequestID ?? clipped(response.fields["client-request-id"]) ?? clientRequestID
        error.date = body.date ?? response.fields["Date"].flatMap(HTTPDate.parse)
        error.retryAfter = response.retryAfter(now: now)
        error.retryAt = error.retryAfter.map { now.addingTimeInterval($0.seconds) }
        return error
    }

    /// Returns the error of an unreadable response of status 200.
    static func unreadable(_ response: HTTPResponse, _ reason: String, clientRequestID: String) -> DirectoryError {
        if let intercepted = intercepted(response, clientRequestID: clientRequestID) { return intercepted }
        return DirectoryError(
            .unreadable("\(reason) (\(contentType(of: response)), status \(response.status))"), status: response.status,
            requestID: clipped(response.fields["request-id"]), clientRequestID: clientRequestID,
            date: response.fields["Date"].flatMap(HTTPDate.parse))
    }

    /// Returns the error for a redirect, for status 511, and for a web page with status 200 or 403; otherwise `nil`.
    ///
    /// Graph's own servers send a web page with 400 and 5xx.
    private static func intercepted(_ response: HTTPResponse, clientRequestID: String) -> DirectoryError? {
        let found: String
        switch response.status {
        case 511: found = "the network requires a sign-in"
        case 300..<400: found = "a redirect"
        case 200, 403:
            guard response.isMarkup else { return nil }
            found = "a web page"
        default: return nil
        }
        return DirectoryError(
            .intercepted("\(found) (\(contentType(of: response)), status \(response.status))"), status: response.status,
            clientRequestID: clientRequestID)
    }

    /// Returns the claims that a 401 requires for the next token.
    static func claims(in response: HTTPResponse) -> String? {
        AuthenticationChallenge.challenges(in: response.fields).compactMap(\.claims).first
    }

    private static func kind(of response: HTTPResponse, code: String?, _ permissions: [String]) -> DirectoryError.Kind {
        switch response.status {
        case 401:
            .signInNeeded(claims: claims(in: response))
        case 403:
            // The tenant does not have the license or the property: a permission does not fix that.
            code == "Authentication_RequestFromNonPremiumTenantOrB2CTenant"
                ? .notPermitted(permissions: []) : .notPermitted(permissions: permissions)
        case 404: .notFound
        // The service no longer knows the page token. The users of previous pages are still valid.
        case 400 where code == "Directory_ExpiredPageToken" || code == "DirectoryPageTokenNotFoundException":
            .resyncNeeded
        case 410: .resyncNeeded
        case 429: .throttled
        case 501: .notSupported
        case 400...499: .badRequest
        case 500, 502, 503, 504: .unavailable
        default: .unreadable("an unexpected status (\(contentType(of: response)), status \(response.status))")
        }
    }

    /// Returns the media type without its parameters, for a message.
    private static func contentType(of response: HTTPResponse) -> String {
        guard let value = response.fields["Content-Type"], !value.isBlank else { return "no content type" }
        return String(value.prefix { $0 != ";" }).visible(limit: 60)
    }

    private static func clipped(_ text: String?) -> String? {
        guard let text, !text.isBlank else { return nil }
        return text.clipped(to: 256)
    }
}

/// The members of an error response, in any form that Graph's services use. Each can be missing.
struct GraphErrorBody: Equatable {
    var code: String?
    var message: String?
    var requestID: String?
    var clientRequestID: String?
    var date: Date?

    init(_ body: Data) {
        guard let first = body.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
            first == UInt8(ascii: "{") || first == 0xEF,
            let object = (try? JSONValue(parsing: body))?.object
        else { return }
        switch object["error"] ?? object["odata.error"] {
        case .object(let error): read(error, depth: 0)
        case .string(let code):
            // The OAuth form (RFC 6750 section 3.1), from gateways in front of the service.
            self.code = code.clipped(to: 256)
            message = object["error_description"]?.string?.clipped(to: 4096)
        default: read(object, depth: 0)
        }
    }

    /// Reads the missing members from this object, then from nested objects.
    private mutating func read(_ object: JSONObject, depth: Int) {
        guard depth < 16 else { return }
        var inner: [JSONObject] = []
        for member in object.members {
            let text = text(member.value)?.clipped(to: 256)
            switch member.name.lowercased().replacing("-", with: "") {
            case "code": code = code ?? text
            case "message": message = message ?? self.text(member.value)?.clipped(to: 4096)
            case "requestid": requestID = requestID ?? text
            case "clientrequestid": clientRequestID = clientRequestID ?? text
            case "date": date = date ?? text.flatMap(ServerDate.graph)
            case "innererror": if let object = member.value.object { inner.append(object) }
            default: break
            }
        }
        for object in inner { read(object, depth: depth + 1) }
    }

    /// Returns a nonempty string: an empty `code` counts as missing.
    private func text(_ value: JSONValue) -> String? {
        switch value {
        case .string(let text): text.isBlank ? nil : text
        case .number(let number): number.literal
        case .object(let object): object["value"]?.string
        default: nil
        }
    }
}
