public import Platform
public import HTTPExchange

/// What a connection asks for when it needs an access token.
public enum TokenRequirement: Sendable, Equatable {
    /// A token that is valid now.
    case current
    /// A new token: this one was refused although it seemed valid.
    case renewed(rejected: String)
    /// A token that carries these claims, a JSON object, because the service demands them (OpenID Connect Core, section 5.5). Where
    /// only a sign-in can give one: ``DirectoryError/Kind/signInNeeded(claims:)`` with the claims.
    case claims(String, rejected: String)
}

extension TokenRequirement: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// What is asked for, without the token.
    public var description: String {
        switch self {
        case .current: "current"
        case .renewed: "renewed"
        case .claims: "with further claims"
        }
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["demand": description]) }
}

/// Where Microsoft Graph is and how requests get there and back. The same serves directories of other kinds.
///
/// The access token goes to the scheme, host and port of the address given here and to no other place.
public struct GraphConnection: Sendable {
    /// Gives the access token for a request, without the word `Bearer`. What it throws is given to the caller as it is.
    public typealias Authorization = @Sendable (TokenRequirement) async throws -> String

    /// The address below which everything is, without a slash at the end, such as `https://graph.microsoft.com/v1.0`.
    public let base: String
    /// What sends requests.
    public var transport: any HTTPTransport
    /// What gives access tokens.
    public var authorization: Authorization
    /// When a request is sent again.
    public var retry: RetryPolicy
    /// One budget for all waits; nil gives each operation its own of ``RetryPolicy/totalDelay``.
    public var budget: RetryBudget?
    /// How fast many people are looked up; shared by all operations of the connection.
    public var pace = RateLimiter()
    /// The most bytes that one answer may have.
    public var maximumAnswerSize = 16 << 20
    /// The time for one request, from the call to the last byte of the answer.
    public var timeout: Duration = .seconds(60)
    /// How to wait before a retry.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The time now.
    public var now: @Sendable () -> Date = { Date() }
    /// A random number from 0 to 1, to spread retries.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// A new identifier for each request.
    public var makeRequestID: @Sendable () -> UUID = { UUID() }

    let origin: Origin
    /// What the service does otherwise than Graph.
    var dialect = ServiceDialect.graph

    /// A connection to the Graph at this address.
    ///
    /// - Parameters:
    ///   - graphAPI: the service's address, with or without a slash at the end: `https://graph.microsoft.com/`. Plain http
    ///     only for this machine.
    ///   - apiVersion: what comes below it, with or without slashes: `v1.0`. May be empty.
    /// - Throws: ``DirectoryError`` of the kind `invalidAddress`.
    public init(
        graphAPI: URL, apiVersion: String = "v1.0", transport: any HTTPTransport, retry: RetryPolicy = RetryPolicy(),
        budget: RetryBudget? = nil, authorization: @escaping Authorization
    ) throws(DirectoryError) {
        let address = graphAPI.absoluteString
        guard let origin = Origin(address) else {
            throw DirectoryError(
                .invalidAddress("it is not an absolute https address such as https://graph.microsoft.com/"))
        }
        guard origin.scheme == "https" || graphAPI.isLoopback else {
            throw DirectoryError(.invalidAddress("plain http is only for this machine, not for \(origin.host)"))
        }
        guard !address.utf8.contains(UInt8(ascii: "?")), !address.utf8.contains(UInt8(ascii: "#")) else {
            throw DirectoryError(.invalidAddress("it has a query or a fragment"))
        }
        let version = apiVersion.split(separator: "/").map { ODataEscaping.pathSegment(String($0)) }
        guard !version.contains("."), !version.contains("..") else {
            throw DirectoryError(.invalidAddress("the version is \"\(apiVersion.visible(limit: 60))\""))
        }
        var base = address
        while base.hasSuffix("/") { base.removeLast() }
        self.base = ([base] + version).joined(separator: "/")
        self.origin = origin
        self.transport = transport
        self.authorization = authorization
        self.retry = retry
        self.budget = budget
    }

    /// A connection to a directory of another kind than Graph.
    ///
    /// - Parameter directoryBase: the address below which everything is: `https://id.example/scim/v2`,
    ///   `https://admin.googleapis.com/admin/directory/v1`. Plain http only for this machine.
    /// - Throws: ``DirectoryError`` of the kind `invalidAddress`.
    public init(
        directoryBase: URL, transport: any HTTPTransport, retry: RetryPolicy = RetryPolicy(),
        budget: RetryBudget? = nil, authorization: @escaping Authorization
    ) throws(DirectoryError) {
        try self.init(
            graphAPI: directoryBase, apiVersion: "", transport: transport, retry: retry, budget: budget,
            authorization: authorization)
    }

    /// The same connection with all waits from this budget.
    func sharing(_ budget: RetryBudget) -> GraphConnection {
        var connection = self
        connection.budget = budget
        return connection
    }
}
