import Platform
import JOSE
import Synchronization

/// The key in the desktop's keyring: GNOME Keyring, KWallet, KeePassXC or whatever else is the Secret Service of the session.
///
/// It is reached over libsecret, which is looked for when it is needed. A locked keyring is an error, never a missing key; the
/// desktop may ask the person to unlock it, when there is a display to ask on. Every call ends in a limited time.
///
/// [Secret Service API](https://specifications.freedesktop.org/secret-service-spec/latest/)
public struct SecretServiceKey: KeyCustody {
    /// Tells this store's key from every other store's.
    public let identity: String
    private let label: String
    private let environment: [String: String]
    private let allowsPrompts: Bool
    private let timeLimit: Duration
    private let promptTimeLimit: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let keyring = SecretServiceThread()

    /// The key of the store with this identity.
    ///
    /// - Parameters:
    ///   - label: what a person sees in the desktop's list of secrets.
    ///   - environment: the environment variables, which lead to the session bus and tell whether there is a display.
    ///   - allowsPrompts: whether the desktop may ask the person to unlock the keyring. It never does without a display.
    ///   - timeLimit: for each call.
    ///   - promptTimeLimit: the same where a person may be asked.
    ///   - sleep: waits for the limits.
    public init(
        identity: String, label: String, environment: [String: String],
        allowsPrompts: Bool = true, timeLimit: Duration = .seconds(15), promptTimeLimit: Duration = .seconds(120),
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.identity = identity
        self.label = label
        self.environment = environment
        self.allowsPrompts =
            allowsPrompts && ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        self.timeLimit = timeLimit
        self.promptTimeLimit = promptTimeLimit
        self.sleep = sleep
    }

    /// "Secret Service"
    public var location: String { SecretServiceError.location }

    /// ``KeyCustodyChoice/secretService``
    public var choice: KeyCustodyChoice? { .secretService }

    /// The key; nil when the keyring is open and has none for this identity.
    public func key() async throws -> SealingKey? {
        try await limited { try await keyring.key(of: $0, identity) }
    }

    /// Makes a key and keeps it in the default keyring.
    public func create() async throws -> SealingKey {
        if let key = try await key() { return key }
        let key = try SealingKey.random()
        try await keep(key)
        return key
    }

    /// Keeps this key in the default keyring.
    public func keep(_ key: SealingKey) async throws {
        if let existing = try await self.key() {
            guard !equalInConstantTime(existing.bytes, key.bytes) else { return }
            throw SecretServiceError.otherKey
        }
        try await limited { try await keyring.keep(key, $0, identity, label: label) }
    }

    /// Removes this key from the keyring.
    public func remove(_ key: SealingKey) async throws {
        try await limited { try await keyring.remove(key, $0, identity) }
    }

    /// Ends the call when its time is over, and lets nobody wait for a service that hangs even then.
    private func limited<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceCall) async throws -> Value
    ) async throws -> Value {
        guard hasSessionBus else { throw SecretServiceError.noSessionBus }
        let limit = allowsPrompts ? promptTimeLimit : timeLimit
        let call = SecretServiceCall(allowsPrompts: allowsPrompts)
        let answer = Promise<Value>()
        Task {
            do {
                answer.finish(.success(try await body(call)))
            } catch {
                answer.finish(.failure(error))
            }
        }
        let sleep = sleep
        let clock = Task {
            try await sleep(limit)
            // First the reason, then the end that it causes.
            answer.finish(.failure(SecretServiceError.late(limit)))
            call.stop()
        }
        defer { clock.cancel() }
        return try await withTaskCancellationHandler {
            try await answer.value()
        } onCancel: {
            call.stop()
        }
    }

    /// Without an address GLib would start a bus of its own, on which no keyring is.
    private var hasSessionBus: Bool {
        if environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false { return true }
        guard let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty else { return false }
        return access(folder + "/bus", F_OK) == 0
    }
}

extension SecretServiceKey: Redacted {
    /// The place.
    public var description: String { location }
}

/// One call to the service, which may be stopped from any thread.
///
/// Sendable is sound: the object is only touched with the lock held, and cancelling is what GLib lets any thread do.
final class SecretServiceCall: @unchecked Sendable {
    let allowsPrompts: Bool
    private let lock = Mutex(())
    private var cancellable: LibSecret.Pointer?
    private var cancel: (@convention(c) (LibSecret.Pointer) -> Void)?
    private var isStopped = false

    init(allowsPrompts: Bool) { self.allowsPrompts = allowsPrompts }

    /// Runs the call with the object that stops it.
    func run<Value>(_ library: LibSecret, _ body: (LibSecret.Pointer?) throws -> Value) throws -> Value {
        let object = library.cancellableNew()
        let isLate = lock.withLock { _ in
            cancellable = object
            cancel = library.cancel
            return isStopped
        }
        defer {
            lock.withLock { _ in cancellable = nil }
            if let object { library.unref(object) }
        }
        guard !isLate else { throw CancellationError() }
        return try body(object)
    }

    /// Ends the call, now or as soon as it begins.
    func stop() {
        lock.withLock { _ in
            isStopped = true
            if let cancellable { cancel?(cancellable) }
        }
    }
}
