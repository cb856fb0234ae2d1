import LodgePlatform
import JOSE
import Synchronization

/// The key in the desktop's keyring: GNOME Keyring, KWallet, KeePassXC or another Secret Service of the session.
///
/// It uses libsecret, which is loaded at run time. A locked keyring is an error, never a missing key. With a display,
/// the desktop may prompt the user to unlock it. Every call has a time limit.
///
/// See the [Secret Service API](https://specifications.freedesktop.org/secret-service-spec/latest/).
package struct SecretServiceKey: KeyCustody {
    /// The identifier that distinguishes this store's key from the keys of other stores.
    package let identity: String
    private let label: String
    private let environment: [String: String]
    private let allowsPrompts: Bool
    private let timeLimit: Duration
    private let promptTimeLimit: Duration
    private let sleep: @Sendable (Duration) async throws -> Void
    private let keyring = SecretServiceThread()

    /// Creates access to the key of the store with this identity.
    ///
    /// - Parameters:
    ///   - label: The name of the key in the desktop's list of secrets.
    ///   - environment: The environment variables for the session bus and the display.
    ///   - allowsPrompts: Whether the desktop may prompt the user to unlock the keyring. It never does without a
    ///     display.
    ///   - timeLimit: The limit of each call.
    ///   - promptTimeLimit: The limit of each call that may prompt the user.
    ///   - sleep: The sleep function for the limits.
    package init(
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

    /// The text "the key in the Secret Service".
    package var location: String { SecretServiceError.location }

    /// The choice ``KeyCustodyChoice/secretService``.
    package var choice: KeyCustodyChoice? { .secretService }

    /// Returns the key, or `nil` if the keyring is unlocked and has no key for this identity.
    package func key() async throws -> SealingKey? {
        try await limited { try await keyring.key(of: $0, identity) }
    }

    /// Creates a key and saves it in the default keyring.
    package func create() async throws -> SealingKey { try await keyOrNewKey() }

    /// Saves this key in the default keyring.
    package func save(_ key: SealingKey) async throws {
        if let existing = try await self.key() {
            return try check(
                existing, is: key,
                otherwise: "check the entry in the desktop's password program, and remove it there")
        }
        try await limited { try await keyring.save(key, $0, identity, label: label) }
    }

    /// Removes this key from the keyring.
    package func remove(_ key: SealingKey) async throws {
        try await limited { try await keyring.remove(key, $0, identity) }
    }

    /// Cancels the call after its time limit, and returns immediately even if the service hangs.
    private func limited<Value: Sendable>(
        _ body: @escaping @Sendable (SecretServiceCall) async throws -> Value
    ) async throws -> Value {
        guard hasSessionBus else { throw SecretServiceError.noSessionBus }
        let limit = allowsPrompts ? promptTimeLimit : timeLimit
        let call = SecretServiceCall(allowsPrompts: allowsPrompts)
        let outcome = Promise<Value>()
        Task {
            do {
                outcome.finish(.success(try await body(call)))
            } catch {
                outcome.finish(.failure(error))
            }
        }
        let sleep = sleep
        let clock = Task {
            try await sleep(limit)
            // Set the error first, because stopping the call ends it with another error.
            outcome.finish(.failure(SecretServiceError.late(limit)))
            call.stop()
        }
        defer { clock.cancel() }
        return try await withTaskCancellationHandler {
            try await outcome.value()
        } onCancel: {
            call.stop()
        }
    }

    /// Whether the environment has the address of a session bus.
    ///
    /// Without it, GLib would start another bus, which has no keyring.
    private var hasSessionBus: Bool {
        if environment["DBUS_SESSION_BUS_ADDRESS"]?.isEmpty == false { return true }
        guard let folder = environment["XDG_RUNTIME_DIR"], !folder.isEmpty else { return false }
        return access(folder + "/bus", F_OK) == 0
    }
}

extension SecretServiceKey: Redacted {
    /// The location.
    package var description: String { location }
}

/// A call to the service that any thread can stop.
///
/// Sendable is sound: the object is accessed only while the lock is held, and GLib allows any thread to cancel.
final class SecretServiceCall: @unchecked Sendable {
    let allowsPrompts: Bool
    private let lock = Mutex(())
    private var cancellable: LibSecret.Pointer?
    private var cancel: (@convention(c) (LibSecret.Pointer) -> Void)?
    private var isStopped = false

    init(allowsPrompts: Bool) { self.allowsPrompts = allowsPrompts }

    /// Runs the call with the object that can stop it.
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

    /// Stops the call, now or as soon as it starts.
    func stop() {
        lock.withLock { _ in
            isStopped = true
            if let cancellable { cancel?(cancellable) }
        }
    }
}
