import LodgePlatform

#if canImport(Security)
    import Foundation
    import JOSE
    import Security

    /// The key in the Keychain of macOS or iOS, only on this device and readable after its first unlock.
    ///
    /// The project's checks run on Linux only, so no test has run this code.
    package actor KeychainKey: KeyCustody {
        /// The identifier that distinguishes this store's key from the keys of other stores.
        package nonisolated let identity: String
        private let label: String
        private let thread = SerialThread()
        private static let service = "oauth2-account-store"

        /// The executor of a separate thread, because the Keychain is another process.
        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// Creates access to the key of the store with this identity.
        ///
        /// - Parameter label: The name of the key in the list of the Keychain.
        package init(identity: String, label: String) {
            self.identity = identity
            self.label = label
        }

        /// The text "the key in the Keychain".
        package nonisolated var location: String { "the key in the Keychain" }

        /// The choice ``KeyCustodyChoice/keychain``.
        package nonisolated var choice: KeyCustodyChoice? { .keychain }

        private var query: [String: Any] {
            [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: Self.service,
                kSecAttrAccount as String: identity,
            ]
        }

        /// Returns the key, or `nil` if the Keychain has no key for this identity.
        package func key() throws -> SealingKey? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw error(status) }
            guard let data = found as? Data, data.count == SealingKey.byteCount else {
                throw error("the value in the Keychain is not a key", "restore the Keychain from a copy")
            }
            return try SealingKey(Array(data))
        }

        /// Creates and saves a key.
        package func create() throws -> SealingKey {
            let key = try SealingKey.random()
            return try add(key) ?? key
        }

        /// Saves this key.
        package func save(_ key: SealingKey) async throws {
            guard let existing = try add(key) else { return }
            try check(existing, is: key, otherwise: "check the entry in Keychain Access")
        }

        /// Adds this key. Returns `nil`, or the existing key if there is one.
        private func add(_ key: SealingKey) throws -> SealingKey? {
            var item = query
            item[kSecValueData as String] = Data(key.bytes)
            item[kSecAttrLabel as String] = label
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecSuccess { return nil }
            if status == errSecDuplicateItem, let existing = try self.key() { return existing }
            throw error(status)
        }

        /// Removes this key.
        package func remove(_ key: SealingKey) async throws {
            guard let existing = try self.key(), equalInConstantTime(existing.bytes, key.bytes) else { return }
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw error(status) }
        }

        private func error(_ status: OSStatus) -> KeyCustodyError {
            let text = SecCopyErrorMessageString(status, nil) as String? ?? "error \(status)"
            let hint: Hint =
                switch status {
                case errSecInteractionNotAllowed: "unlock the Keychain (security unlock-keychain), and try again"
                case errSecUserCanceled: "try again, and allow it when the system asks"
                case errSecAuthFailed: "allow this program in Keychain Access, and try again"
                default: "check that Keychain Access works, and try again"
                }
            return error(text, "\(hint); the key is unchanged")
        }
    }
#endif

/// The Keychain, on systems that have one.
enum Keychain {
    #if canImport(Security)
        static let makeKey: (@Sendable (_ identity: String, _ label: String) -> any KeyCustody)? = {
            KeychainKey(identity: $0, label: $1)
        }
    #else
        static let makeKey: (@Sendable (_ identity: String, _ label: String) -> any KeyCustody)? = nil
    #endif
}
