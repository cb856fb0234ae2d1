import LodgePlatform

/// An error of a directory.
///
/// Errors of the network and of the access token have other types: they are passed on unchanged.
public struct DirectoryError: Error, Sendable, Equatable {
    /// The kind of an error. It decides the remedy.
    public enum Kind: Sendable, Equatable {
        /// The search text is empty. No request was sent.
        case emptySearch
        /// The query is invalid, for this reason. No request was sent.
        case invalidQuery(String)
        /// The offline copy does not contain the data for the query, for this reason. The directory may have it.
        case notInCopy(String)
        /// The directory's URL is invalid, for this reason. No request was sent.
        case invalidURL(String)
        /// The service rejected the access token even after a refresh.
        ///
        /// `claims` is a JSON object that the service requires in the next sign-in (OpenID Connect Core, section 5.5),
        /// or `nil`.
        case signInNeeded(claims: String?)
        /// The user or the program lacks one of these permissions, the least privileged first.
        ///
        /// The list is empty for another reason, such as a license.
        case notPermitted(permissions: [String])
        /// The service rejects the access token of an application even after the application got a new one.
        case blockedByPolicy
        /// The user or the path does not exist.
        case notFound
        /// Several users have this mail address.
        case ambiguous
        /// The service temporarily rejects requests.
        case throttled
        /// The service failed: 500, 502, 503 or 504.
        case unavailable
        /// The service does not understand the request or does not allow it in this form.
        case badRequest
        /// The service does not support the operation.
        ///
        /// It responds with 501, or has no signed-in user or list of changes.
        case notSupported
        /// The list of pages has expired: start again (410).
        case resyncNeeded
        /// The response is not from a directory: not JSON, an unexpected structure, or an unexpected status.
        case unreadable(String)
        /// The response is from a network with a login page or from a proxy: a redirect or a web page.
        case intercepted(String)
        /// The link to the next page points to this other server. No request was sent there.
        case foreignNextLink(host: String)
        /// The links return to an earlier page, or 1,000 consecutive pages have no new user.
        case endlessPages
        /// The directory returns more users than this. The results so far are complete.
        case tooManyResults(maximum: Int)
        /// A sync would exceed its limit of users, or of bytes for that number of users.
        case copyTooLarge(maximumUsers: Int)
    }

    /// The kind of the error.
    public var kind: Kind
    /// The status of the response, or `nil` without one.
    public var status: Int?
    /// The service's error code, such as `Request_ResourceNotFound`, at most 256 characters. Show it only with ``reference``.
    public var code: String?
    /// The service's message, at most 4,096 characters. It may contain control characters: show ``displayMessage`` instead.
    public var message: String?
    /// The service's identifier of the request, for its support.
    public var requestID: String?
    /// The client's identifier of the request.
    public var clientRequestID: String?
    /// The time of the response according to the service's clock.
    public var date: Date?
    /// The delay that the service requires, at most one day.
    public var retryAfter: Duration?
    /// The time of the next possible attempt.
    public var retryAt: Date?
    /// The form of the permissions of an application, or `nil` if the request was for a user.
    package var applicationPermission: ApplicationPermission?

    /// The form in which an administrator permits a request to an application.
    package enum ApplicationPermission: Sendable, Equatable {
        /// A permission that is assigned to the application, as in Microsoft Entra.
        case permission
        /// A scope of the access token.
        case scope
        /// A scope in the domain-wide delegation of a service account of Google.
        case delegation
    }

    /// Creates an error.
    package init(
        _ kind: Kind, status: Int? = nil, code: String? = nil, message: String? = nil, requestID: String? = nil,
        clientRequestID: String? = nil, date: Date? = nil, retryAfter: Duration? = nil, retryAt: Date? = nil
    ) {
        self.kind = kind
        self.status = status
        self.code = code
        self.message = message
        self.requestID = requestID
        self.clientRequestID = clientRequestID
        self.date = date
        self.retryAfter = retryAfter
        self.retryAt = retryAt
    }
}

extension DirectoryError {
    /// Whether the service lacks the resource, such as `$batch` or the list of changes.
    var isMissingResource: Bool { kind == .notFound || kind == .notSupported || status == 405 }

    /// Whether the service rejects the account, and so every request.
    var isForAccount: Bool {
        switch kind {
        case .signInNeeded, .blockedByPolicy: true
        default: false
        }
    }

    /// Returns the error of an invalid query with this reason.
    static func invalidQuery(_ reason: String) -> DirectoryError { DirectoryError(.invalidQuery(reason)) }

    /// Returns the error of a string that cannot be the name of a property.
    static func noProperty(_ name: String) -> DirectoryError {
        invalidQuery("\"\(name.visible(limit: 100))\" is not the name of a property")
    }
}

extension DirectoryError: CustomStringConvertible {
    /// The error and the service's message in one line that is safe for a terminal.
    public var description: String {
        guard let displayMessage else { return summary }
        return "\(summary): \(displayMessage)"
    }

    /// The service's message in one line, with control and bidirectional characters escaped, or `nil` without one.
    public var displayMessage: String? {
        guard let message, !message.isBlank else { return nil }
        return message.visible()
    }

    /// The error in one sentence without a full stop.
    package var summary: String {
        switch kind {
        case .emptySearch: "there is nothing to search for: the text is empty"
        case .invalidQuery(let reason): "the query cannot be sent: \(reason)"
        case .notInCopy(let reason): "the offline copy cannot run this search: \(reason)"
        case .invalidURL(let reason): "the directory's address cannot be used: \(reason)"
        case .signInNeeded(claims: .some): "the directory requires a new sign-in with additional verification"
        case .signInNeeded: "the directory does not accept the sign-in"
        case .notPermitted(let permissions):
            permissions.isEmpty
                ? "the directory does not permit this"
                : "the directory does not permit this without "
                    + Self.requirement(permissions.joined(separator: " or "), applicationPermission)
        case .blockedByPolicy: "blocked by policy: the directory rejects the application's new access token too"
        case .notFound: "the directory does not have it"
        case .ambiguous: "more than one person has this mail address"
        case .throttled: "the directory takes no more requests for now"
        case .unavailable: "the directory is not available (status \(status ?? 0))"
        case .badRequest: "the directory refuses the request (status \(status ?? 0))"
        case .notSupported: "the directory does not offer this"
        case .resyncNeeded: "the directory no longer has the state of this list"
        case .intercepted(let reason): "the response is not from the directory: \(reason)"
        case .unreadable(let reason): "the response is not valid: \(reason)"
        case .foreignNextLink(let host):
            "the URL of the next page has the host \(host.visible(limit: 100)), which is not this directory; no request was sent there"
        case .endlessPages: "the directory's pages do not end"
        case .tooManyResults(let maximum): "the directory returns more than \(maximum) results"
        case .copyTooLarge(let maximum): "the directory returns more than \(maximum) users, or users of unusual size"
        }
    }

    private static func requirement(_ permissions: String, _ form: ApplicationPermission?) -> String {
        switch form {
        case nil: permissions
        case .permission?: "the application permission \(permissions)"
        case .scope?: "the scope \(permissions)"
        case .delegation?: "the scope \(permissions) in the domain-wide delegation"
        }
    }

    /// The remedy for the problem.
    public var remedy: DirectoryRemedy {
        switch kind {
        case .emptySearch: .enterText
        case .invalidQuery, .ambiguous, .badRequest, .notSupported, .tooManyResults: .changeQuery
        case .notInCopy: .searchDirectory
        case .copyTooLarge(let maximum): .raiseLimit(users: maximum)
        case .invalidURL: .correctURL
        case .foreignNextLink, .endlessPages: .checkURL
        case .signInNeeded(let claims): .signIn(claims: claims)
        case .notPermitted(let permissions):
            switch applicationPermission {
            case nil: .askAdministrator(permissions: permissions)
            case .permission?: .grantToApplication(permissions: permissions)
            case .scope?: .allowScopes(permissions)
            case .delegation?: .delegateScopes(permissions)
            }
        case .blockedByPolicy: .askAdministrator(permissions: [])
        case .notFound: .checkName
        case .throttled, .unavailable: .retry(at: retryAt)
        case .resyncNeeded: .startAgain
        case .unreadable, .intercepted: .checkNetwork
        }
    }

    /// The code, identifiers and date for the service's support, safe for a terminal, or `nil` without any.
    public var reference: String? {
        var parts: [String] = []
        if let code, !code.isBlank { parts.append("code \(code.visible(limit: 100))") }
        if let requestID { parts.append("request \(requestID.visible(limit: 100))") }
        if let clientRequestID, clientRequestID != requestID {
            parts.append("client request \(clientRequestID.visible(limit: 100))")
        }
        if let date { parts.append(date.rfc3339) }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension DirectoryError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? {
        switch kind {
        case .emptySearch, .invalidQuery, .notInCopy: "Cannot run the search."
        default: "The request to the directory failed."
        }
    }
    /// The reason in a sentence, with the service's message.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { remedy.description.sentence }
}
