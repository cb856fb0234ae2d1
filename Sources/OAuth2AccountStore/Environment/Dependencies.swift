import Platform
import HTTPExchange
import JOSE

/// The outside world of a store: network, time, randomness, the browser. Tests replace what they want to decide.
public struct Dependencies: Sendable {
    /// Makes the transport that trusts the system's certificate authorities and those of this file.
    public var transport: @Sendable (_ caFile: String?) -> any HTTPTransport
    /// Makes the transport that proves with this certificate who connects, beside trusting the authorities of the file.
    public var certifiedTransport: @Sendable (_ caFile: String?, ClientCertificate) -> any HTTPTransport
    /// The time of day.
    public var now: @Sendable () -> Date = { Date() }
    /// The time of a clock that only goes forward, and goes on while the machine sleeps.
    public var uptime: @Sendable () -> Duration = { Self.start.duration(to: .now) }
    /// Waits.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// The maximum time that a call waits for new tokens while the provider does not respond. The request for them continues.
    public var refreshTimeout: Duration = .seconds(30)
    /// Waits for the time limits of refreshes and before another attempt to save. Unlike ``sleep``, it does not end at the time limit of
    /// a caller.
    package var timer: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Reports the activity of a call before its result, if it is set. It must not take long.
    package var report: (@Sendable (StoreActivity) async -> Void)?
    /// Unpredictable bytes.
    public var random: @Sendable (Int) throws -> [UInt8] = { try SecureRandom.bytes($0) }
    /// The environment variables.
    public var environment: [String: String]
    /// Gives the certificates that the server of an address presents, trusted or not, for whoever looks for what is wrong.
    public var peerCertificates: @Sendable (URL) async throws -> [PeerCertificate] = {
        try await PeerCertificate.chain(of: $0)
    }
    /// Shows an address to the person.
    public var openBrowser: @Sendable (URL) async throws -> Void

    private static let start = ContinuousClock.now

    /// Surroundings with this transport for every type; the rest is the real world.
    public init(
        transport: any HTTPTransport, environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        self.init(environment: environment) { _ in transport }
        certifiedTransport = { _, _ in transport }
        // Whoever decides what the network answers has no other network.
        peerCertificates = { _ in [] }
    }

    /// Surroundings that make their transports this way; the rest is the real world.
    public init(
        environment: [String: String] = ProcessInfo.processInfo.environment,
        transport: @escaping @Sendable (_ caFile: String?) -> any HTTPTransport
    ) {
        self.transport = transport
        certifiedTransport = { CurlTransport(caFile: $0, clientCertificate: $1) }
        self.environment = environment
        openBrowser = { try await Browser.open($0, environment: environment) }
    }

    /// The real world, with libcurl.
    public static var system: Dependencies {
        let standard = CurlTransport()
        return Dependencies { caFile in caFile.map { CurlTransport(caFile: $0) } ?? standard }
    }
}

extension Dependencies {
    /// The time of ``uptime``, in seconds.
    package var uptimeSeconds: Double { uptime() / .seconds(1) }

    /// Returns the transport for requests to the provider of a type: with the certificate authorities, the client certificate, the
    /// pinned keys and the requests per origin of its settings.
    package func transport(for type: AccountType) -> any HTTPTransport {
        type.limiting(type.clientCertificate.map { certifiedTransport(type.caFile, $0) } ?? transport(type.caFile))
    }
}

extension Dependencies: Redacted {
    /// "surroundings": the environment may hold secrets.
    public var description: String { "dependencies" }
}
