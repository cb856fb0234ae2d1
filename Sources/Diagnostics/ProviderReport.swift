import OAuth2AccountStore
import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// The features of a provider according to its metadata and keys, checked for an account type.
package struct ProviderReport: Sendable {
    /// The result of one check.
    package struct Finding: Sendable, Equatable {
        /// The result.
        package enum State: String, Sendable, Equatable {
            /// It is usable.
            case ok
            /// It is usable, but needs attention soon.
            case warning
            /// The provider does not support it; sign-in works without it.
            case notOffered = "not offered"
            /// It is missing or invalid.
            case problem
        }

        /// The subject, such as `token_endpoint`.
        package var subject: String
        /// The result.
        package var state: State
        /// The explanation. It may contain the provider's text: escape control characters before you print it.
        package var detail: String
        /// How to fix a problem of the settings.
        package var remedy: Hint?

        /// Creates the result of a check.
        package init(subject: String, state: State, detail: String, remedy: Hint? = nil) {
            self.subject = subject
            self.state = state
            self.detail = detail
            self.remedy = remedy
        }
    }

    /// The findings, in a stable order.
    package internal(set) var findings: [Finding] = []
    /// The provider's metadata, or `nil` if it cannot be loaded.
    package internal(set) var server: AuthorizationServer?
    /// The error that ended the checks.
    package internal(set) var failure: AccountStoreError?
    /// The error of the source of an application's tokens or assertions.
    package internal(set) var sourceFailure: AccountStoreError?
    /// The seconds that the provider's clock is ahead of this machine's, or `nil` if it sends no date.
    package internal(set) var clockSkew: Double?

    /// The findings that are problems.
    package var problems: [Finding] { findings.filter { $0.state == .problem } }

    /// The accepted clock difference in seconds, as in the validation of ID tokens.
    package static let allowedSkew = 60.0

    /// Loads and checks a provider's metadata and keys, and whether the client is registered. It sends no secrets and
    /// saves no data.
    ///
    /// - Parameters:
    ///   - checksClient: Whether to send an authorization request without a session, which shows whether the provider has
    ///     registered the client with the redirect URI. The default is `true`.
    ///   - checksSource: Whether to check the source of an application's tokens or assertions, with
    ///     a signature if the key is in a device. The default is `true`.
    /// - Throws: `CancellationError`. The report contains every other error.
    package static func check(
        _ type: AccountType, dependencies: Dependencies, checksClient: Bool = true, checksSource: Bool = true
    ) async throws -> ProviderReport {
        var report = ProviderReport()
        let transport = dependencies.transport(for: type)
        do {
            if let certificate = try await ClientCertificateState(of: type, dependencies, signs: checksSource) {
                report.findings.append(
                    Finding(
                        subject: "certificate", state: certificate.remedy == nil ? .ok : .warning,
                        detail: certificate.detail, remedy: certificate.remedy))
            }
        } catch let error where error.isCancellation {
            throw CancellationError()
        } catch {
            let failure = AccountStoreError.wrapping(error, what: "cannot use the certificate")
            report.failure = failure
            report.add("certificate", .problem, failure.reason)
            return report
        }
        if checksSource {
            for finding in try await Diagnosis.source(of: type, dependencies, usesNetwork: true) {
                report.addSource(finding)
            }
        }
        // The token endpoint of a registered client has no role for another source of tokens.
        guard !type.grant.usesTokenSource else { return report }
        do {
            if type.provider == .staticToken {
                try await report.checkService(of: type, transport)
                return report
            }
            let found = try await discover(type, transport)
            report.server = found.server
            if let url = found.url {
                report.add("discovery", .ok, url.absoluteString)
                report.checkClock(found.date, now: dependencies.now())
            } else {
                report.add("discovery", .notOffered, "the settings name the endpoints")
            }
            report.check(found.server, for: type)
            try await report.checkKeys(found.server, for: type, transport)
            if checksClient {
                report.findings.append(try await client(of: type, at: found.server, dependencies: dependencies))
            }
        } catch let error where error.isCancellation {
            throw CancellationError()
        } catch {
            let failure = AccountStoreError.wrapping(error, what: "cannot find out what the provider can do")
            report.failure = failure
            report.add("discovery", .problem, failure.reason)
        }
        return report
    }

    /// Returns the metadata of a provider with the endpoints from the settings, which take precedence.
    ///
    /// - Throws: ``AccountStoreError``
    package static func server(of type: AccountType, dependencies: Dependencies) async throws -> AuthorizationServer {
        do {
            return try await discover(type, dependencies.transport(for: type)).server
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot find out what the provider can do")
        }
    }

    /// Reads both metadata documents of the provider.
    private static func discover(
        _ type: AccountType, _ transport: any HTTPTransport
    ) async throws -> ProviderDiscovery.Metadata {
        let discovery = ProviderDiscovery(type) { request in
            let response = try await transport.send(request)
            try response.checkIsFromServer(of: request.url)
            return response
        }
        var metadata = try await discovery.read()
        try await discovery.complete(&metadata)
        return metadata
    }

    private mutating func addSource(_ finding: Diagnosis.Finding) {
        let state: Finding.State =
            switch finding.state {
            case .ok: .ok
            case .warning: .warning
            case .problem: .problem
            }
        findings.append(
            Finding(
                subject: finding.check == .clock ? "clock" : "source", state: state, detail: finding.detail,
                remedy: finding.remedy))
        sourceFailure = sourceFailure ?? finding.failure
    }

    mutating func add(_ subject: String, _ state: Finding.State, _ detail: String) {
        findings.append(Finding(subject: subject, state: state, detail: detail))
    }

    /// Checks that the service of a type without a provider responds.
    private mutating func checkService(of type: AccountType, _ transport: any HTTPTransport) async throws {
        add("provider", .notOffered, "none: you supply the token")
        guard let url = type.serviceURL else { return }
        _ = try await transport.send(HTTPRequest(.get, url))
        add(type.graphAPI == nil ? "API" : "directory", .ok, "\(url.absoluteString) responds")
    }

    /// Adds the clock difference.
    ///
    /// Ignores less than two seconds, because HTTP dates have whole seconds and responses take time.
    private mutating func checkClock(_ date: Date?, now: Date) {
        guard let date else { return add("clock", .notOffered, "the provider sends no date") }
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
                    + (abs(skew) <= Self.allowedSkew ? "" : "; set it, or ID tokens will be rejected"))
        }
    }
}
