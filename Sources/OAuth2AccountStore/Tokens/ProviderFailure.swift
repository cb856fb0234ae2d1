import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import SealedStorage

/// The saved form of a transient error of a provider: a response with status 429 or 5xx, or no response.
///
/// It has no secrets and no messages of the provider. It belongs to the account and not to one of its tokens, because
/// one refresh token requests all of them.
struct ProviderFailure: Codable, Sendable, Equatable {
    /// The default delay if the provider sends no `Retry-After`, in seconds.
    static let defaultDelay = 5.0
    /// The permitted delays, in seconds. The minimum prevents that every waiting process sends a request.
    static let delays = 1.0...900.0

    /// The time of the error, in seconds since 1970.
    let start: Double
    /// The delay before the next request, in seconds.
    let delay: Double
    /// The HTTP status of the response.
    private(set) var status: Int?
    /// The kind of a transport error, if there was no response.
    private(set) var kind: String?
    private(set) var host: String?
    private(set) var reason: String?

    /// The kinds of transport errors that are transient. An error of TLS or of the request itself is not: after the
    /// user corrects it, the next request must be sent.
    private static let kinds: Set<HTTPTransportError.Kind> = [
        .timedOut, .connectionLost, .cannotConnect, .cannotResolveHost, .proxy,
    ]
    private static let maximumReason = 300

    /// Creates the saved form of an error, or `nil` if the error is not transient.
    init?(_ error: any Error, now: Date) {
        var requested: Duration?
        switch error {
        case OAuth2Error.http(let code, let delay) where Self.isTransient(code): (status, requested) = (code, delay)
        case OAuth2Error.provider(let error) where Self.isTransient(error.status ?? 0):
            (status, requested) = (error.status, error.retryAfter)
        // A time limit of this process has no host. It must not stop other processes.
        case let error as HTTPTransportError where Self.kinds.contains(error.kind) && !error.host.isEmpty:
            kind = error.kind.rawValue
            host = error.host
            reason = String(error.reason.prefix(Self.maximumReason))
        default: return nil
        }
        start = now.timeIntervalSince1970
        let wanted = requested.map { $0 / .seconds(1) } ?? Self.defaultDelay
        delay = min(max(wanted, Self.delays.lowerBound), Self.delays.upperBound)
    }

    private static func isTransient(_ status: Int) -> Bool { status == 429 || (500...599).contains(status) }

    /// Returns the seconds until the next request may be sent, or `nil` if it may be sent now. The delay ends if the
    /// clock was set back.
    func remaining(at now: Date) -> Double? {
        let age = now.timeIntervalSince1970 - start
        guard delay <= Self.delays.upperBound, age >= 0, age < delay else { return nil }
        return delay - age
    }

    /// Returns the error for a caller, or `nil` if the delay is over.
    func error(at now: Date) -> AccountStoreError? {
        guard let delay = remaining(at: now).map({ Duration.seconds(Int($0.rounded(.up))) }) else { return nil }
        let cause: any Error
        if let status {
            cause = OAuth2Error.http(status: status, retryAfter: delay)
        } else if let kind = kind.flatMap(HTTPTransportError.Kind.init(rawValue:)), let host, let reason {
            cause = HTTPTransportError(kind, host: host, reason: reason)
        } else {
            return nil
        }
        var error = AccountStoreError.wrapping(cause, what: RefreshOutcome.failure)
        error.reason += " (an earlier request; no other was sent)"
        error.remedy = .retryLater(after: delay)
        error.hint = nil
        return error
    }
}

/// The saved transient errors of a store's accounts, shared by all processes.
struct ProviderFailures: Sendable {
    private let storage: any AccountStorage
    private let now: @Sendable () -> Date

    /// The two kinds of requests of a refresh.
    enum Request {
        /// The request for the provider's metadata, within the time limit of the caller.
        case metadata
        /// The request for the tokens.
        case tokens
    }

    init(_ context: StoreContext) {
        storage = context.repository.storage
        now = context.dependencies.now
    }

    static func name(_ id: Account.ID) -> String { "failure:\(id)" }

    /// Throws the saved error of an account if it still applies.
    func check(_ id: Account.ID) async throws {
        guard let value = try await storage.value(Self.name(id)),
            let failure = try? JSONDecoder().decode(ProviderFailure.self, from: Data(value)),
            let error = failure.error(at: now())
        else { return }
        throw error
    }

    /// Sends a request. If it fails with a transient error, saves the error.
    func saving<Value: Sendable>(
        _ id: Account.ID, of request: Request, _ send: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await send()
        } catch {
            // A time limit of this caller can be too short for any provider.
            let isLimited = request == .metadata && (error as? HTTPTransportError)?.kind == .timedOut
            if !isLimited, let failure = ProviderFailure(error, now: now()),
                let value = try? JSONEncoder().encode(failure)
            {
                // If this write fails, the next process only sends another request.
                try? await storage.setValue(Array(value), for: Self.name(id))
            }
            throw error
        }
    }

    /// Removes the saved error of an account: after a success, or together with the account.
    func remove(_ id: Account.ID) async {
        let name = Self.name(id)
        guard (try? await storage.value(name)) ?? nil != nil else { return }
        try? await storage.setValue(nil, for: name)
    }
}
