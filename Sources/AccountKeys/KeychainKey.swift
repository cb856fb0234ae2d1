import Platform

#if canImport(Security)
    import Foundation
    import JOSE
    import Security

    /// The key in the Keychain of macOS or iOS: on this device only, and there once it was unlocked after its start.
    ///
    /// The project's own checks run on Linux: this has not been run.
    public actor KeychainKey: KeyCustody {
        /// Tells this store's key from every other store's.
        public nonisolated let identity: String
        private let label: String
        private let thread = SerialThread()
        private static let service = "oauth2-account-store"

        /// The Keychain is another process: a thread of its own waits for it.
        public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// Creates the custody of the store with this identity.
        ///
        /// - Parameter label: The name of the key in the list of the Keychain.
        public init(identity: String, label: String) {
            self.identity = identity
            self.label = label
        }

        /// "Keychain"
        public nonisolated var location: String { "the key in the Keychain" }

        /// ``KeyCustodyChoice/keychain``
        public nonisolated var choice: KeyCustodyChoice? { .keychain }

        private var query: [String: Any] {
            [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: Self.service,
                kSecAttrAccount as String: identity,
            ]
        }

        /// The key, or nil when the Keychain has none for this identity.
        public func key() throws -> SealingKey? {
            var query = query
            query[kSecReturnData as String] = true
            query[kSecMatchLimit as String] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw fault(status) }
            guard let data = found as? Data, data.count == SealingKey.byteCount else {
                throw KeyCustodyError(
                    location: location, reason: "what the Keychain has is no key",
                    hint: "restore the Keychain from a copy")
            }
            return try SealingKey(Array(data))
        }

        /// Makes a key and keeps it.
        public func create() throws -> SealingKey {
            let key = try SealingKey.random()
            return try add(key) ?? key
        }

        /// Keeps this key.
        public func keep(_ key: SealingKey) throws {
            guard let existing = try add(key), !equalInConstantTime(existing.bytes, key.bytes) else { return }
            throw KeyCustodyError(
                location: location, reason: "another key is there already", hint: "see what it is in Keychain Access")
        }

        /// The key that was there before this one; nil when this one was added.
        private func add(_ key: SealingKey) throws -> SealingKey? {
            var item = query
            item[kSecValueData as String] = Data(key.bytes)
            item[kSecAttrLabel as String] = label
            item[kSecAttrAccessible as String] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            let status = SecItemAdd(item as CFDictionary, nil)
            if status == errSecSuccess { return nil }
            if status == errSecDuplicateItem, let existing = try self.key() { return existing }
            throw fault(status)
        }

        /// Removes this key.
        public func remove(_ key: SealingKey) throws {
            guard let existing = try self.key(), equalInConstantTime(existing.bytes, key.bytes) else { return }
            let status = SecItemDelete(query as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw fault(status) }
        }

        private func fault(_ status: OSStatus) -> KeyCustodyError {
            let text = SecCopyErrorMessageString(status, nil) as String? ?? "error \(status)"
            let hint: Hint =
                switch status {
                case errSecInteractionNotAllowed: "unlock the Keychain (security unlock-keychain), and try again"
                case errSecUserCanceled: "try again, and allow it when the system asks"
                case errSecAuthFailed: "allow this program in Keychain Access, and try again"
                default: "see whether Keychain Access works, and try again"
                }
            return KeyCustodyError(location: location, reason: text, hint: "\(hint); nothing was changed")
        }
    }
#endif

/// The Keychain, if the system has one.
enum Keychain {
    #if canImport(Security)
        static let makeKey: (@Sendable (_ identity: String, _ label: String) -> any KeyCustody)? = {
            KeychainKey(identity: $0, label: $1)
        }
    #else
        static let makeKey: (@Sendable (_ identity: String, _ label: String) -> any KeyCustody)? = nil
    #endif
}
