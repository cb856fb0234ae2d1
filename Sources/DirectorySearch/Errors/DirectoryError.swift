public import Platform

/// Why a directory gave no people.
///
/// Failures of the network are not among these: they come as the transport threw them, and so do failures to get an access
/// token.
public struct DirectoryError: Error, Sendable, Equatable {
    /// What went wrong, and with it what can be done.
    public enum Kind: Sendable, Equatable {
        /// Nobody was asked for: the search text is empty. Nothing was sent.
        case emptySearch
        /// The query cannot be built, for this reason. Nothing was sent.
        case invalidQuery(String)
        /// The directory's address cannot be used, for this reason. Nothing was sent.
        case invalidAddress(String)
        /// The access token was refused, also after it was renewed. With `claims`, a JSON object, when the service demands
        /// that the next sign-in request carries them (OpenID Connect Core, section 5.5).
        case signInNeeded(claims: String?)
        /// The person or the program lacks a permission: one of these, the least first. Empty when the reason is another,
        /// such as a licence.
        case notPermitted(permissions: [String])
        /// There is no such person, or no such address.
        case notFound
        /// More than one person has this mail address.
        case ambiguous
        /// The service takes no more requests for now.
        case throttled
        /// The service failed: 500, 502, 503 or 504.
        case unavailable
        /// The service does not understand the request or does not allow it as it stands.
        case badRequest
        /// The service does not offer this (501).
        case notSupported
        /// What was being read exists no more: start again (410).
        case resyncNeeded
        /// The answer is not one of a directory: not JSON, not in its form, or an unexpected status.
        case unreadable(String)
        /// The next page is said to be at this other place. Nothing was sent there.
        case foreignNextLink(host: String)
        /// The pages lead back to one already read, or too many in a row are empty.
        case endlessPages
    }

    /// What went wrong.
    public var kind: Kind
    /// The answer's status, when there was an answer.
    public var status: Int?
    /// The service's own error code, such as `Request_ResourceNotFound`. As it came: to be shown only through
    /// ``reference``. At most 256 characters.
    public var code: String?
    /// The service's own words. As they came, which can mean control characters: show ``displayMessage`` instead. At most
    /// 4,096 characters.
    public var message: String?
    /// The service's identifier of the request, for its support.
    public var requestID: String?
    /// The identifier that was sent with the request.
    public var clientRequestID: String?
    /// When the service answered, by its own clock.
    public var date: Date?
    /// How long the service asks to wait, at most a day.
    public var retryAfter: Duration?
    /// When it makes sense to come back.
    public var retryAt: Date?

    /// A failure of this kind.
    public init(
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

extension DirectoryError: CustomStringConvertible {
    /// What happened and what the service said about it, in one line that is safe for a terminal.
    public var description: String {
        guard let displayMessage else { return summary }
        return "\(summary): \(displayMessage)"
    }

    /// The service's own words on one line, with control and bidirectional characters made visible; nil without any.
    public var displayMessage: String? {
        guard let message, !message.isBlank else { return nil }
        return message.visible()
    }

    /// What happened, in one sentence without a full stop.
    public var summary: String {
        switch kind {
        case .emptySearch: "there is nothing to search for: the text is empty"
        case .invalidQuery(let reason): "the query cannot be sent: \(reason)"
        case .invalidAddress(let reason): "the directory's address cannot be used: \(reason)"
        case .signInNeeded(claims: .some): "the directory asks for a new sign-in with further proof"
        case .signInNeeded: "the directory does not accept the sign-in"
        case .notPermitted(let permissions):
            permissions.isEmpty
                ? "the directory does not permit this"
                : "the directory does not permit this without \(permissions.joined(separator: " or "))"
        case .notFound: "the directory does not have it"
        case .ambiguous: "more than one person has this mail address"
        case .throttled: "the directory takes no more requests for now"
        case .unavailable: "the directory is not available (status \(status ?? 0))"
        case .badRequest: "the directory refuses the request (status \(status ?? 0))"
        case .notSupported: "the directory does not offer this"
        case .resyncNeeded: "the directory no longer has what was being read"
        case .unreadable(let reason): "the answer is not a directory's: \(reason)"
        case .foreignNextLink(let host):
            "the next page is said to be at \(host.visible(limit: 100)), which is not this directory; nothing was sent there"
        case .endlessPages: "the directory's pages do not end"
        }
    }

    /// What to do, in one sentence without a full stop; nil when nothing can be done.
    public var remedy: String? {
        switch kind {
        case .emptySearch: "give at least one letter of a name"
        case .invalidQuery, .ambiguous: "change the query"
        case .invalidAddress: "correct the directory's address in the settings"
        case .signInNeeded: "sign in again"
        case .notPermitted(let permissions):
            permissions.isEmpty
                ? "ask an administrator of the directory"
                : "ask an administrator to grant \(permissions.joined(separator: " or ")), then sign in with it"
        case .notFound: "check the spelling, and that it is the right directory"
        case .throttled, .unavailable:
            retryAt.map { "come back at \($0.formatted(.iso8601))" } ?? "try again later"
        case .badRequest, .notSupported: "change the query"
        case .resyncNeeded: "start again from the beginning"
        case .unreadable: "check the directory's address in the settings, and whether the network asks for a sign-in"
        case .foreignNextLink, .endlessPages: "check the directory's address in the settings"
        }
    }

    /// What the service's support needs: code, identifiers and date, safe for a terminal; nil when none came.
    public var reference: String? {
        var parts: [String] = []
        if let code, !code.isBlank { parts.append("code \(code.visible(limit: 100))") }
        if let requestID { parts.append("request \(requestID.visible(limit: 100))") }
        if let clientRequestID, clientRequestID != requestID {
            parts.append("client request \(clientRequestID.visible(limit: 100))")
        }
        if let date { parts.append(date.formatted(.iso8601)) }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
