import OAuth2AccountStore
import Platform
import HTTPExchange
import OAuth2Protocol

/// What a provider can do, as its own metadata and keys say, and how that fits an account type.
public struct ProviderReport: Sendable {
    /// One thing that was looked at.
    public struct Finding: Sendable, Equatable {
        /// How it is.
        public enum State: String, Sendable, Equatable {
            /// It is there and can be used.
            case ok
            /// The provider does not have it; sign-in works without.
            case notOffered = "not offered"
            /// It is missing or wrong, and something will not work.
            case problem
        }

        /// What was looked at: `token_endpoint`.
        public var subject: String
        /// How it is.
        public var state: State
        /// What was found, or why it is a problem. May hold the provider's text: make control characters visible before
        /// showing it.
        public var detail: String
    }

    /// What was found, in a stable order.
    public internal(set) var findings: [Finding] = []
    /// The provider; nil when it could not be found out about.
    public internal(set) var server: AuthorizationServer?
    /// Why nothing more could be found out: an `AccountStoreError`.
    public internal(set) var failure: AccountStoreError?
    /// How far the provider's clock is ahead of this machine's, in seconds; nil when it does not tell the time.
    public internal(set) var clockSkew: Double?

    /// What is missing or wrong.
    public var problems: [Finding] { findings.filter { $0.state == .problem } }

    /// The difference of clocks that is no problem, in seconds: what the validation of ID tokens allows for.
    public static let allowedSkew = 60.0

    /// Asks a provider for its metadata and its keys. Nothing secret is sent, nothing is kept.
    ///
    /// - Throws: `CancellationError`; every other failure is in the report.
    public static func check(_ type: AccountType, dependencies: Dependencies) async throws -> ProviderReport {
        var report = ProviderReport()
        let transport = dependencies.transport(type.caFile)
        do {
            let found = try await discover(type, transport)
            report.server = found.server
            if let url = found.url {
                report.add("discovery", .ok, url)
                report.noteClock(found.date, now: dependencies.now())
            } else {
                report.add("discovery", .notOffered, "the settings name the endpoints")
            }
            report.judge(found.server, for: type)
            try await report.judgeKeys(found.server, for: type, transport)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            let wrapped = AccountStoreError.wrapping(error, what: "cannot find out what the provider can do")
            guard let failure = wrapped as? AccountStoreError else { throw error }
            report.failure = failure
            report.add("discovery", .problem, failure.reason)
        }
        return report
    }

    /// The provider of a type: its metadata with the endpoints that the settings name in front.
    ///
    /// - Throws: ``AccountStoreError``, `CancellationError`
    package static func server(of type: AccountType, dependencies: Dependencies) async throws -> AuthorizationServer {
        do {
            return try await discover(type, dependencies.transport(type.caFile)).server
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot find out what the provider can do")
        }
    }

    private static func discover(
        _ type: AccountType, _ transport: any HTTPTransport
    ) async throws -> (server: AuthorizationServer, url: String?, date: Date?) {
        func fetch(_ discovery: Discovery) async throws -> (AuthorizationServer, String?, Date?) {
            let response = try await transport.send(discovery.request)
            let server = try discovery.read(response)
            return (
                server, discovery.url.absoluteString, response.fields["Date"].flatMap { HTTPDate.parse($0) }
            )
        }
        var (server, url, date): (AuthorizationServer, String?, Date?) = (AuthorizationServer(), nil, nil)
        switch type.provider {
        case .endpoints: break
        case .authority(let authority):
            (server, url, date) = try await fetch(
                Discovery(
                    authority: authority, knownAuthorities: type.knownAuthorities, allowsLoopbackHTTP: true))
        case .issuer(let issuer):
            do {
                (server, url, date) = try await fetch(Discovery(issuer: issuer, allowsLoopbackHTTP: true))
            } catch OAuth2Error.http(let status, _) where status == 404 {
                // A provider of plain OAuth 2 has its metadata at the other well-known address (RFC 8414 section 5).
                (server, url, date) = try await fetch(
                    Discovery(issuer: issuer, placement: .oauth, allowsLoopbackHTTP: true))
            }
        }
        for (name, path) in AuthorizationServer.endpointNames {
            guard let endpoint = type.endpoints[name] else { continue }
            server[keyPath: path] = endpoint
            server.unusable[name] = nil
        }
        return (server, url, date)
    }

    mutating func add(_ subject: String, _ state: Finding.State, _ detail: String) {
        findings.append(Finding(subject: subject, state: state, detail: detail))
    }

    /// HTTP tells the time in whole seconds, and the answer took a while: less than two seconds are no difference.
    private mutating func noteClock(_ date: Date?, now: Date) {
        guard let date else { return add("clock", .notOffered, "the provider does not tell the time") }
        let skew = date.timeIntervalSince(now)
        clockSkew = skew
        let seconds = Int(min(abs(skew), 1e9))
        if seconds < 2 {
            add("clock", .ok, "the same as the provider's")
        } else {
            let side = skew > 0 ? "behind" : "ahead of"
            add(
                "clock", abs(skew) <= Self.allowedSkew ? .ok : .problem,
                "this machine's clock is \(seconds) s \(side) the provider's"
                    + (abs(skew) <= Self.allowedSkew ? "" : "; set it, or ID tokens will be refused"))
        }
    }
}
