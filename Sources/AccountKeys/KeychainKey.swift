import LodgePlatform

/// The options of a key in the Keychain of Apple platforms.
package struct KeychainOptions: Sendable, Equatable {
    /// The access group of apps of one team and their extensions; `nil` for the app's own group.
    package var accessGroup: String?
    /// Whether the key can be read while the device is locked, after its first unlock. A background refresh needs it.
    package var isReadableWhenLocked = true
    /// Whether to use the file-based keychain of macOS, for programs without entitlements.
    package var usesFileBasedKeychain = false

    package init() {}
}

#if canImport(Security)
    import Foundation
    import JOSE
    import Security

    /// The key in the Keychain of macOS or iOS, only on this device.
    ///
    /// Only stand-ins for the Security framework have run this code.
    package actor KeychainKey: KeyCustody {
        /// The identifier that distinguishes this store's key from the keys of other stores.
        package nonisolated let identity: String
        private let label: String
        private let options: KeychainOptions
        private let thread = SerialThread()
        private static let service = "oauth2-account-store"

        /// The executor of a separate thread, because the Keychain is another process.
        package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// Creates access to the key of the store with this identity.
        ///
        /// - Parameter label: The name of the key in the list of the Keychain.
        package init(identity: String, label: String, options: KeychainOptions = KeychainOptions()) {
            self.identity = identity
            self.label = label
            self.options = options
        }

        /// The text "the key in the Keychain".
        package nonisolated var location: String { "the key in the Keychain" }

        /// The choice ``KeyCustodyChoice/keychain``.
        package nonisolated var choice: KeyCustodyChoice? { .keychain }

        private var query: [String: Any] {
            var query: [String: Any] = [
                kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: Self.service,
                kSecAttrAccount as String: identity,
            ]
            // Without it, macOS uses the file-based keychain, which ignores the protection and the access group.
            if !options.usesFileBasedKeychain { query[kSecUseDataProtectionKeychain as String] = true }
            if let group = options.accessGroup { query[kSecAttrAccessGroup as String] = group }
            return query
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
            // Only on this device: neither a backup nor iCloud contains the key.
            item[kSecAttrAccessible as String] =
                options.isReadableWhenLocked
                ? kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly : kSecAttrAccessibleWhenUnlockedThisDeviceOnly
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
                case errSecInteractionNotAllowed: "the Keychain is locked: unlock the device, and try again"
                case errSecMissingEntitlement:
                    "add the keychain entitlement and the access group to the program, or choose the file-based keychain or a key file"
                case errSecUserCanceled: "try again, and allow it when the system asks"
                case errSecAuthFailed: "allow this program in Keychain Access, and try again"
                default: "check that Keychain Access works, and try again"
                }
            return error(text, "\(hint); the key is unchanged")
        }
    }

    extension KeyLocations {
        /// The access group of the Keychain for apps of one team and their extensions. `nil` is the app's own group.
        ///
        /// Then save the store in the container of an app group, with `StoreLocation(_:)`.
        public var keychainAccessGroup: String? {
            get { keychain.accessGroup }
            set { keychain.accessGroup = newValue }
        }

        /// Whether the app can read the key while the device is locked, after its first unlock. The default is `true`: a
        /// refresh in the background needs it.
        public var isKeychainReadableWhenLocked: Bool {
            get { keychain.isReadableWhenLocked }
            set { keychain.isReadableWhenLocked = newValue }
        }

        /// Whether to use the file-based keychain of macOS. The default is `false`.
        ///
        /// Command-line programs without entitlements cannot use the other one. It has no access groups, and its keys can
        /// be in backups.
        public var usesFileBasedKeychain: Bool {
            get { keychain.usesFileBasedKeychain }
            set { keychain.usesFileBasedKeychain = newValue }
        }
    }
#endif

/// The Keychain, on systems that have one.
package enum Keychain {
    #if canImport(Security)
        static let makeKey: (@Sendable (_ identity: String, _ label: String, KeychainOptions) -> any KeyCustody)? = {
            KeychainKey(identity: $0, label: $1, options: $2)
        }

        /// The key location of a new store: the Keychain for an app, and the key file for other programs on macOS.
        package static var defaultChoice: KeyCustodyChoice {
            #if os(macOS)
                ["app", "appex"].contains(Bundle.main.bundleURL.pathExtension) ? .keychain : .keyFile
            #else
                .keychain
            #endif
        }
    #else
        static let makeKey: (@Sendable (_ identity: String, _ label: String, KeychainOptions) -> any KeyCustody)? = nil

        /// The key location of a new store: the key file.
        package static let defaultChoice = KeyCustodyChoice.keyFile
    #endif
}
