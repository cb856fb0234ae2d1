import LodgePlatform
import HTTPExchange
import JOSE

/// The environment of a store: network, time, randomness and browser. Tests replace the parts that they control.
public struct Dependencies: Sendable {
    /// Creates the transport that trusts the certificate authorities of the system and of a file.
    public var transport: @Sendable (_ caFile: String?) -> any HTTPTransport
    /// Creates the transport that authenticates with a client certificate, and trusts the certificate authorities of
    /// the system and of a file.
    public var certifiedTransport: @Sendable (_ caFile: String?, ClientCertificate) -> any HTTPTransport
    /// The current time of day.
    public var now: @Sendable () -> Date = { Date() }
    /// The time of a monotonic clock, which continues while the machine sleeps.
    public var uptime: @Sendable () -> Duration = { Self.start.duration(to: .now) }
    /// Waits for a duration.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The time limit of a call that waits for new tokens while the provider does not respond. The default is 30
    /// seconds. The request for the tokens continues.
    public var refreshTimeout: Duration = .seconds(30)
    /// Waits during the time limits of refreshes, and before another attempt to save. Unlike ``sleep``, it continues
    /// after the time limit of a caller.
    package var timer: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Waits before another attempt of a request to a service of the platform. If `nil`, ``timer`` does. It throws an error to
    /// end the attempts.
    package var retryDelay: (@Sendable (Duration) async throws -> Void)?
    /// Reports the activities of a call before its result, if it is set. It must return quickly.
    package var report: (@Sendable (StoreActivity) async -> Void)?
    /// Asks the system not to suspend the process during a refresh.
    package var expiringActivity = ExpiringActivity.system
    /// Returns the given number of cryptographically secure random bytes.
    public var random: @Sendable (Int) throws -> [UInt8] = { try SecureRandom.bytes($0) }
    /// The environment variables.
    public var environment: [String: String]
    /// Returns the certificates that the server of a URL presents, trusted or not, for diagnostics.
    public var peerCertificates: @Sendable (URL) async throws -> [PeerCertificate] = {
        try await SystemTransport.peerCertificates(of: $0)
    }
    /// Opens a URL in the user's browser.
    public var openBrowser: @Sendable (URL) async throws -> Void

    private static let start = ContinuousClock.now

    /// Creates dependencies with one transport for all account types. The time, the randomness and the browser are the
    /// system's. `peerCertificates` returns no certificates.
    public init(
        transport: any HTTPTransport, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.init(environment: environment) { _ in transport }
        certifiedTransport = { _, _ in transport }
        // A stubbed transport opens no TLS connection, so there are no certificates to inspect.
        peerCertificates = { _ in [] }
    }

    /// Creates dependencies with a function that creates the transports. The time, the randomness and the browser are
    /// the system's.
    ///
    /// - Parameters:
    ///   - environment: The environment variables. The default is the environment of the process.
    ///   - transport: Creates the transport that trusts the certificate authorities of the system and of a file.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        transport: @escaping @Sendable (_ caFile: String?) -> any HTTPTransport
    ) {
        self.transport = transport
        certifiedTransport = { SystemTransport.make(caFile: $0, clientCertificate: $1) }
        self.environment = environment
        openBrowser = { try await Browser.open($0, environment: environment) }
    }

    /// The dependencies of a program: the clock, the randomness and the browser of the system, and `URLSession` on Apple
    /// platforms, libcurl on other systems.
    public static var system: Dependencies {
        let standard = SystemTransport.make()
        return Dependencies { caFile in caFile.map { SystemTransport.make(caFile: $0) } ?? standard }
    }
}

extension Dependencies {
    /// The time of ``uptime``, in seconds.
    package var uptimeSeconds: Double {
        // Faster than a division of durations.
        let (seconds, attoseconds) = uptime().components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }

    /// Returns the transport for requests to the provider of a type: with the certificate authorities, the client
    /// certificate, the pinned keys and the limit of concurrent requests from its settings.
    package func transport(for type: AccountType) -> any HTTPTransport {
        type.limiting(type.clientCertificate.map { certifiedTransport(type.caFile, $0) } ?? transport(type.caFile))
    }
}

extension Dependencies: Redacted {
    /// The word "dependencies", because the environment can contain secrets.
    public var description: String { "dependencies" }
}
