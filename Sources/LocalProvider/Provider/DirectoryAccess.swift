import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// The user or application that sends a directory request, with its permissions.
struct DirectoryPrincipal: Sendable {
    /// The position of the signed-in user, or `nil` for an application with its own permissions.
    var user: Int?
    /// The permissions, without the prefix of a resource.
    var permissions: Set<String>

    private func has(_ names: String...) -> Bool { !permissions.isDisjoint(with: names) }

    var readsAllUsers: Bool { has("User.ReadBasic.All") || !readsBasicOnly }

    var readsOtherLists: Bool { readsAllUsers || has("admin.directory.user.readonly") }

    /// Whether all properties of groups are readable, not only their identifiers.
    var readsGroups: Bool { has("GroupMember.Read.All", "Group.Read.All", "Directory.Read.All") }

    /// Whether restoring and deleting accounts is allowed.
    var writes: Bool { has("User.ReadWrite.All", "Directory.ReadWrite.All") }

    var readsSelf: Bool { readsAllUsers || has("User.Read") }

    /// Whether only the basic properties of other users are readable.
    var readsBasicOnly: Bool {
        !has("User.Read.All", "User.ReadWrite.All", "Directory.Read.All", "Directory.ReadWrite.All")
    }
}

/// The reason why a request has no valid access token.
enum TokenRejection: Error, Equatable {
    case missing, expired, unknown
    /// The directory requires these claims of a new token.
    case challenged(JSONObject)
}

extension ProviderState {
    /// Returns the authorization of the access token in the header field. See RFC 6750 section 2.1.
    ///
    /// - Parameter entry: An injected error, which can revoke the token first.
    func authorization(
        _ fields: HTTPFields, revokedBy entry: InjectedErrors.Entry? = nil
    ) throws(TokenRejection) -> Authorization {
        let values = fields.values(for: "Authorization")
        guard let value = values.first else { throw .missing }
        guard values.count == 1, value.prefix(7).lowercased() == "bearer " else { throw .unknown }
        let text = String(value.dropFirst(7))
        let now = now
        let token = state.withLock { state in
            if let entry { state.grants.revoke(text, by: entry, now: now) }
            return state.grants.accessTokens[text]
        }
        guard let token else { throw .unknown }
        guard token.expiresAt > now else { throw .expired }
        if let challenge = token.challenge {
            // The service sends no challenge to a client that does not handle it.
            throw token.handlesClaims ? .challenged(challenge) : .unknown
        }
        return token.authorization
    }

    /// Responds to a directory request with an injected error, or after checking the access token.
    ///
    /// - Parameters:
    ///   - accepts: Whether an injected error applies to the request.
    ///   - inject: Returns the response for an injected error, or `nil` if the error changes the directory's response.
    ///   - reject: Returns the response for an invalid access token.
    ///   - respond: Returns the directory's response.
    func directoryResponse(
        to request: LoopbackRequest, _ note: inout RequestNote, accepts: (InjectedErrors.Name) -> Bool,
        inject: (InjectedErrors.Entry) -> LoopbackResponse?, reject: (TokenRejection) -> LoopbackResponse,
        respond: (DirectoryPrincipal, Authorization, InjectedErrors.Entry?) -> LoopbackResponse
    ) -> LoopbackResponse {
        let entry = state.withLock { $0.injectedErrors.take("directory-", where: accepts) }
        note.injectedError = entry?.name
        if let entry, let response = entry.gatewayResponse ?? inject(entry) { return response }
        do throws(TokenRejection) {
            let authorization = try authorization(request.fields, revokedBy: entry)
            let principal = DirectoryPrincipal(
                user: authorization.user, permissions: Set(authorization.scopes.map(Scopes.permission)))
            var response = respond(principal, authorization, entry)
            entry?.change(&response)
            return response
        } catch {
            return reject(error)
        }
    }

    /// Responds to a request to the SCIM or Google directory, whose errors consist of a status and a message.
    func listResponse(
        to request: LoopbackRequest, _ note: inout RequestNote,
        error: (_ status: Int, _ message: String) -> LoopbackResponse, respond: () -> LoopbackResponse
    ) -> LoopbackResponse {
        directoryResponse(to: request, &note, accepts: Self.listErrors.keys.contains) { entry in
            guard let status = Self.listErrors[entry.name] ?? nil else { return nil }
            var response = error(status, "This is an injected error.")
            if [429, 503].contains(status) { response.fields["Retry-After"] = entry.retryAfter(now: now) }
            return response
        } reject: { rejection in
            let message =
                switch rejection {
                case .missing: "Login is required."
                case .expired: "The token has expired."
                case .unknown, .challenged: "The token is invalid."
                }
            var response = error(401, message)
            response.fields["WWW-Authenticate"] = "Bearer realm=\"local provider\", error=\"invalid_token\""
            return response
        } respond: { principal, _, _ in
            principal.readsOtherLists ? respond() : error(403, "Not authorized to access this resource.")
        }
    }

    /// The injected errors for SCIM and Google, with the status of plain error responses.
    private static let listErrors: [InjectedErrors.Name: Int?] = [
        .directory401: 401, .directory403: 403, .directory404: 404, .directory429: 429, .directory500: 500,
        .directory501: 501, .directory503: 503, .directoryEmptyResponse: nil, .directoryHTML: nil,
        .directoryHalfJSON: nil, .directoryHuge: nil, .directoryNothing: nil, .directoryStall: nil,
        .directoryCut: nil, .directorySlow: nil,
    ]
}

extension LoopbackRequest {
    /// Returns the decoded segments of the path after a prefix, or `nil` if they are not percent-encoded UTF-8.
    func segments(after prefix: String) -> [String]? { Self.segments(of: path.dropFirst(prefix.count)) }

    /// Returns the decoded segments of a path, or `nil` if they are not percent-encoded UTF-8.
    static func segments(of path: some StringProtocol) -> [String]? {
        let parts = path.split(separator: "/")
        let segments = parts.compactMap { PercentEncoding.decode($0.utf8) }
        return segments.count == parts.count ? segments : nil
    }

    /// The query options, or `nil` if they are not percent-encoded UTF-8.
    var options: FormFields? { FormFields(parsing: query ?? "") }

    /// The form in the body, or `nil` if it is not percent-encoded UTF-8.
    var form: FormFields? { String(validating: body, as: UTF8.self).flatMap { FormFields(parsing: $0) } }
}
