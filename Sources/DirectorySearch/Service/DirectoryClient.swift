import LodgePlatform
import HTTPExchange

/// A requirement for the access token of a request.
package enum TokenRequirement: Sendable, Equatable {
    /// A token that is valid now.
    case current
    /// A new token, because the service rejected this one before it expired.
    case refreshed(rejected: String)
    /// A token with these claims, a JSON object from the service (OpenID Connect Core, section 5.5).
    ///
    /// If this needs a sign-in, the authorization throws ``DirectoryError/Kind/signInNeeded(claims:)`` with the claims.
    case claims(String, rejected: String)

    /// Creates the requirement after a rejected token.
    init(claims: String?, rejected: String) {
        self = claims.map { .claims($0, rejected: rejected) } ?? .refreshed(rejected: rejected)
    }
}

extension TokenRequirement: Redacted {
    /// The requirement without the token.
    package var description: String {
        switch self {
        case .current: "current"
        case .refreshed: "refreshed"
        case .claims: "with additional claims"
        }
    }
}

extension HTTPRetryPolicy {
    /// The default policy of directories, with the values of Microsoft's libraries.
    ///
    /// The total delay of one operation is at most a minute.
    ///
    /// A directory ignores ``methods``, because all of its requests only read. After connection errors it retries at
    /// most twice, after at most a quarter of a second, so that a user without a network does not wait.
    public static let directory = HTTPRetryPolicy(
        methods: idempotentMethods.union([.post]), firstDelay: .seconds(3), maximumDelay: .seconds(180))

    /// The policy after a connection error.
    fileprivate var afterConnectionError: HTTPRetryPolicy {
        var policy = self
        policy.maximumRetries = min(maximumRetries, 2)
        policy.firstDelay = min(firstDelay, .milliseconds(250))
        return policy
    }
}

/// The client of one directory: its URL and the means to send requests.
///
/// The access token is sent only to the scheme, host and port of this URL.
package struct DirectoryClient: Sendable {
    /// Returns the access token for a request, without the word `Bearer`. Its errors are thrown unchanged.
    package typealias Authorization = @Sendable (TokenRequirement) async throws -> String

    /// The base URL of all resources, without a trailing slash, such as `https://graph.microsoft.com/v1.0`.
    package let base: String
    /// The transport that sends the requests.
    package var transport: any HTTPTransport
    /// The source of access tokens.
    package var authorization: Authorization
    /// The conditions for retries of a request.
    package var retry: HTTPRetryPolicy
    /// The shared time budget for all retry delays. If `nil`, each operation has its own, the policy's `totalDelay`.
    package var budget: RetryBudget?
    /// The limit on the rate of lookups, shared by all operations of the client.
    ///
    /// It adapts to the reports of the service.
    package var rateLimiter = RateLimiter()
    /// The maximum size of one response in bytes.
    package var maximumResponseSize = 16 << 20
    /// The maximum time of one request without a byte in either direction.
    ///
    /// A large page on a slow network continues while bytes arrive, for at most `HTTPRequest.maximumDuration`.
    package var timeout: Duration = .seconds(60)
    /// Sleeps before a retry.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Reports each delay before a retry, when it starts.
    package var willWait: @Sendable (HTTPRetryWait) async -> Void = { _ in }
    /// Returns the current time.
    package var now: @Sendable () -> Date = { Date() }
    /// Returns a random number from 0 to 1, to spread retries.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// Returns a new identifier for each request.
    package var makeRequestID: @Sendable () -> UUID = { UUID() }

    /// Whether the tokens belong to an application, which has no user.
    package var isApplication = false
    /// Whether the service has a signed-in user for the tokens.
    package var hasUser = true
    /// Called with an access token that the service rejected with claims although it is new, so that it is not used again.
    package var discard: @Sendable (_ rejected: String, _ claims: String) async throws -> Void = { _, _ in }

    let origin: Origin
    /// The differences between the service and Graph.
    var dialect = ServiceDialect.graph

    /// Creates a client of the Graph service at this URL.
    ///
    /// - Parameters:
    ///   - graphAPI: The service's URL, with or without a trailing slash: `https://graph.microsoft.com/`. Plain HTTP
    ///     only for loopback.
    ///   - apiVersion: The path below it, with or without slashes. It can be empty. The default is `v1.0`.
    /// - Throws: ``DirectoryError`` of the kind `invalidURL`.
    package init(
        graphAPI: URL, apiVersion: String = "v1.0", transport: any HTTPTransport, retry: HTTPRetryPolicy = .directory,
        budget: RetryBudget? = nil, authorization: @escaping Authorization
    ) throws(DirectoryError) {
        let text = graphAPI.absoluteString
        guard let origin = Origin(text) else {
            throw DirectoryError(
                .invalidURL("it is not an absolute https address such as https://graph.microsoft.com/"))
        }
        guard origin.scheme == "https" || graphAPI.isLoopback else {
            throw DirectoryError(.invalidURL("plain http is only for this machine, not for \(origin.host)"))
        }
        guard !text.utf8.contains(UInt8(ascii: "?")), !text.utf8.contains(UInt8(ascii: "#")) else {
            throw DirectoryError(.invalidURL("it has a query or a fragment"))
        }
        let version = apiVersion.split(separator: "/").map { ODataEscaping.pathSegment(String($0)) }
        guard !version.contains("."), !version.contains("..") else {
            throw DirectoryError(.invalidURL("the version is \"\(apiVersion.visible(limit: 60))\""))
        }
        var base = text
        while base.hasSuffix("/") { base.removeLast() }
        self.base = ([base] + version).joined(separator: "/")
        self.origin = origin
        self.transport = transport
        self.authorization = authorization
        self.retry = retry
        self.budget = budget
    }

    /// Creates a client of a directory other than Graph.
    ///
    /// - Parameter directoryBase: The base URL of all resources: `https://id.example/scim/v2`,
    ///   `https://admin.googleapis.com/admin/directory/v1`. Plain HTTP only for loopback.
    /// - Throws: ``DirectoryError`` of the kind `invalidURL`.
    package init(
        directoryBase: URL, transport: any HTTPTransport, retry: HTTPRetryPolicy = .directory,
        budget: RetryBudget? = nil, authorization: @escaping Authorization
    ) throws(DirectoryError) {
        try self.init(
            graphAPI: directoryBase, apiVersion: "", transport: transport, retry: retry, budget: budget,
            authorization: authorization)
    }

    /// The name of the service for reports.
    var name: String { dialect.name ?? origin.host }

    /// Returns the same client with a shared time budget.
    func sharing(_ budget: RetryBudget) -> DirectoryClient {
        var client = self
        client.budget = budget
        return client
    }

    /// Returns the same client for a service with another dialect.
    func speaking(_ dialect: ServiceDialect) -> DirectoryClient {
        var client = self
        client.dialect = dialect
        return client
    }

    /// Returns the time budget for a new operation.
    func makeBudget() -> RetryBudget { budget ?? RetryBudget(retry.totalDelay) }

    /// Returns the URL if it belongs to this directory. Only then is the token added to it.
    ///
    /// - Throws: ``DirectoryError`` of the kind `foreignNextLink`.
    @discardableResult
    func checked(_ link: String) throws(DirectoryError) -> URL {
        let text = ODataEscaping.url(link)
        let origin = Origin(text)
        guard let origin, origin == self.origin, let url = URL(string: text), url.absoluteString == text else {
            throw DirectoryError(.foreignNextLink(host: origin?.description ?? "an unreadable address"))
        }
        return url
    }

    /// Sends a request, with one token refresh and the delays of the retry policy.
    ///
    /// - Parameter token: The token of the first attempt; `nil` for the current one.
    /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
    func response(to request: Request, budget: RetryBudget, token: String? = nil) async throws -> Response {
        let url = try checked(request.url)
        var token = if let token { token } else { try await authorization(.current) }
        var hasRefreshed = false
        var retries = 0
        while true {
            try Task.checkCancellation()
            let identifier = makeRequestID().uuidString.lowercased()
            let response: HTTPResponse
            do {
                response = try await transport.send(
                    httpRequest(url, request, token: token, identifier: identifier, retries: retries))
            } catch let error as HTTPTransportError where retry.failures.contains(error.kind) {
                let policy = retry.afterConnectionError
                let delay = policy.delay(before: retries, random: random())
                guard policy.allows(retries, after: delay, budget) else { throw error }
                await willWait(HTTPRetryWait(for: name, retries, of: policy, delay: delay, isRequested: false))
                try await sleep(delay)
                retries += 1
                continue
            }
            rateLimiter.note(response, now: now())
            if response.status == 200 {
                return Response(http: response, clientRequestID: identifier, token: token, wasRetried: retries > 0)
            }
            var error = GraphErrorResponse.error(
                for: response, clientRequestID: identifier, permissions: request.permissions, now: now())
            if !dialect.namesRequests { error.clientRequestID = nil }
            dialect.explain(&error, response)

            if case .signInNeeded(let claims) = error.kind {
                if !hasRefreshed {
                    hasRefreshed = true
                    guard let refreshed = try await refreshedToken(claims: claims, rejected: token) else {
                        throw adapted(error)
                    }
                    token = refreshed
                    continue
                }
                if let claims { try await discard(token, claims) }
            }
            guard retry.statuses.contains(response.status) || error.kind == .throttled else { throw adapted(error) }
            let delay = retry.delay(before: retries, requested: error.retryAfter, random: random())
            if error.retryAt == nil { error.retryAt = now().addingTimeInterval(delay.seconds) }
            guard retry.allows(retries, after: delay, budget) else { throw error }
            await willWait(
                HTTPRetryWait(
                    for: name, retries, of: retry, delay: delay, isRequested: error.retryAfter != nil,
                    status: response.status))
            try await sleep(delay)
            retries += 1
            token = try await authorization(.current)
        }
    }

    /// Returns a token different from the rejected one, or `nil` if there is no other.
    ///
    /// The service's own error is then clearer than an error of the authorization.
    func refreshedToken(claims: String?, rejected: String) async throws -> String? {
        do {
            let token = try await authorization(TokenRequirement(claims: claims, rejected: rejected))
            return token.utf8.elementsEqual(rejected.utf8) ? nil : token
        } catch let error as DirectoryError where error.kind == .signInNeeded(claims: claims) {
            return nil
        }
    }

    /// Returns the error with the remedies of an application, which has no user who could sign in.
    func adapted(_ error: DirectoryError) -> DirectoryError {
        guard isApplication else { return error }
        var error = error
        switch error.kind {
        case .signInNeeded(claims: .some): error.kind = .blockedByPolicy
        case .notPermitted(let permissions):
            error.kind = .notPermitted(permissions: dialect.applicationPermissions(permissions))
            error.applicationPermission = dialect.applicationPermission
        default: break
        }
        return error
    }

    /// Throws if the tokens belong to an application, because then the service has no signed-in user.
    func checkHasUser() throws(DirectoryError) {
        guard hasUser else {
            throw DirectoryError(.notSupported, message: "the account is an application, and has no user")
        }
    }

    private func httpRequest(
        _ url: URL, _ request: Request, token: String, identifier: String, retries: Int
    ) -> HTTPRequest {
        var result = HTTPRequest(request.body == nil ? .get : .post, url)
        if let body = request.body {
            result.body = Data(body.serialized())
            result.fields["Content-Type"] = request.contentType
        }
        result.fields["Accept"] = request.accept
        // A transport that signs requests replaces this field.
        result.fields["Authorization"] = "Bearer " + token
        if dialect.namesRequests { result.fields["client-request-id"] = identifier }
        if request.isAdvanced { result.fields["ConsistencyLevel"] = "eventual" }
        if let preference = request.preference { result.fields["Prefer"] = preference }
        if retries > 0, dialect.namesRequests { result.fields["Retry-Attempt"] = String(retries) }
        result.idleTimeout = timeout
        result.maximumResponseSize = maximumResponseSize
        result.redirects = .none
        return result
    }
}
