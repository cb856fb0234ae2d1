import LodgePlatform
import JOSE

/// The calls to the Secret Service on a separate thread, because they wait for another process.
actor SecretServiceThread {
    private let thread = SerialThread()
    private var library: LibSecret?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The schema of the item, which is also an attribute of all items of this library.
    private static let schema = "OAuth2AccountStore.Key"
    private static let application = "oauth2-account-store"

    func key(of call: SecretServiceCall, _ identity: String) throws -> SealingKey? {
        try session(call) { session in
            var found: SealingKey?
            try session.items(identity) { item in
                let key = try session.key(in: item)
                if let found, !equalInConstantTime(found.bytes, key.bytes) { throw SecretServiceError.ambiguous }
                found = key
            }
            if found == nil {
                // A locked keyring hides its items, so unlock it before reporting that there is no key.
                try session.withDefaultKeyring { _ in }
            }
            return found
        }
    }

    func save(_ key: SealingKey, _ call: SecretServiceCall, _ identity: String, label: String) throws {
        try session(call) { session in
            guard try session.withDefaultKeyring({ _ in }) || call.allowsPrompts else {
                throw SecretServiceError.noKeyring
            }
            try session.store(key, identity, label: label)
        }
    }

    func remove(_ key: SealingKey, _ call: SecretServiceCall, _ identity: String) throws {
        try session(call) { session in
            var isThere = false
            try session.items(identity) { item in
                guard equalInConstantTime(try session.key(in: item).bytes, key.bytes) else { return }
                isThere = true
                try session.delete(item)
            }
            if !isThere { try session.withDefaultKeyring { _ in } }
        }
    }

    private func session<Value>(_ call: SecretServiceCall, _ body: (Session) throws -> Value) throws -> Value {
        guard let library = try? library ?? LibSecret() else { throw SecretServiceError.notInstalled }
        self.library = library
        return try call.run(library) { cancellable in
            let session = try Session(library, cancellable, allowsPrompts: call.allowsPrompts)
            defer { session.close() }
            return try body(session)
        }
    }

    /// The connection for one call.
    private struct Session {
        private let library: LibSecret
        private let cancellable: LibSecret.Pointer?
        private let allowsPrompts: Bool
        private let bus: LibSecret.Pointer
        private let service: LibSecret.Pointer

        /// `G_BUS_TYPE_SESSION`
        private static let sessionBus: Int32 = 2
        /// `SECRET_SERVICE_OPEN_SESSION`: secrets are encrypted on the bus.
        private static let openSession: Int32 = 1 << 1
        /// `SECRET_SEARCH_ALL`
        private static let all: Int32 = 1 << 1

        init(_ library: LibSecret, _ cancellable: LibSecret.Pointer?, allowsPrompts: Bool) throws {
            self.library = library
            self.cancellable = cancellable
            self.allowsPrompts = allowsPrompts
            // libsecret uses the same connection. By default, GLib ends this process when the bus closes.
            let bus = try Self.checked(library) { library.busGet(Self.sessionBus, cancellable, $0) }
            guard let bus else { throw SecretServiceError.noSessionBus }
            library.busSetExitOnClose(bus, 0)
            do {
                let service = try Self.checked(library) { library.serviceGet(Self.openSession, cancellable, $0) }
                guard let service else { throw SecretServiceError.notSaved }
                self.service = service
                self.bus = bus
            } catch {
                library.serviceDisconnect()
                library.unref(bus)
                throw error
            }
        }

        /// Releases the service, so that the next call finds a restarted keyring.
        func close() {
            library.unref(service)
            library.serviceDisconnect()
            library.unref(bus)
        }

        /// Runs a function that may set an error.
        private static func checked<Value>(
            _ library: LibSecret, _ body: (LibSecret.ErrorPointer) -> Value
        ) throws -> Value {
            var error: LibSecret.Pointer?
            let value = body(&error)
            guard let error else { return value }
            defer { library.errorFree(error) }
            // struct GError { GQuark domain; gint code; gchar *message; }
            let domain = library.quarkName(error.load(as: UInt32.self)).map { String(cString: $0) } ?? ""
            let code = error.load(fromByteOffset: 4, as: Int32.self)
            let text = error.load(fromByteOffset: 8, as: UnsafePointer<CChar>?.self).map { String(cString: $0) } ?? ""
            throw SecretServiceError.reported(domain, code, text)
        }

        private func checked<Value>(_ body: (LibSecret.ErrorPointer) -> Value) throws -> Value {
            try Self.checked(library, body)
        }

        private func withAttributes<Value>(
            _ attributes: [(name: String, value: String)], _ body: (LibSecret.Pointer) throws -> Value
        ) throws -> Value {
            guard let table = library.hashNew(library.stringHash, library.stringEqual) else {
                throw SecretServiceError.notSaved
            }
            // The table stores addresses, which must stay valid until it is released.
            let copies = attributes.flatMap { [strdup($0.name), strdup($0.value)] }.compactMap(\.self)
            defer {
                library.hashUnref(table)
                for copy in copies { free(copy) }
            }
            guard copies.count == 2 * attributes.count else { throw SecretServiceError.notSaved }
            for index in stride(from: 0, to: copies.count, by: 2) {
                _ = library.hashInsert(table, copies[index], copies[index + 1])
            }
            return try body(table)
        }

        private func attributes(_ identity: String) -> [(name: String, value: String)] {
            [("application", SecretServiceThread.application), ("store", identity)]
        }

        /// Calls `body` with each item of this identity, unlocked.
        func items(_ identity: String, _ body: (LibSecret.Pointer) throws -> Void) throws {
            let list = try withAttributes(attributes(identity)) { table in
                try checked { library.search(service, nil, table, Self.all, cancellable, $0) }
            }
            let items = objects(list)
            library.listFree(list)
            defer { items.forEach(library.unref) }
            for item in items {
                if library.itemIsLocked(item) != 0 { try unlock(item) }
                try body(item)
            }
        }

        /// Returns the objects of a list: struct GList { gpointer data; GList *next; GList *prev; }
        private func objects(_ list: LibSecret.Pointer?) -> [LibSecret.Pointer] {
            var objects: [LibSecret.Pointer] = []
            var next = list
            while let node = next {
                if let object = node.load(as: LibSecret.Pointer?.self) { objects.append(object) }
                next = node.load(fromByteOffset: MemoryLayout<LibSecret.Pointer>.size, as: LibSecret.Pointer?.self)
            }
            return objects
        }

        func key(in item: LibSecret.Pointer) throws -> SealingKey {
            _ = try checked { library.itemLoadSecret(item, cancellable, $0) }
            guard let value = library.itemGetSecret(item) else { throw SecretServiceError.damaged }
            defer { library.valueUnref(value) }
            var count = 0
            guard let start = library.valueGet(value, &count), count <= 4096 else { throw SecretServiceError.damaged }
            var text = Array(UnsafeBufferPointer(start: start, count: count))
            defer { for index in text.indices { text[index] = 0 } }
            guard text.count != SealingKey.byteCount, let key = FileDescriptorKey.key(in: text) else {
                throw SecretServiceError.damaged
            }
            return key
        }

        /// Saves the key as a string, because some services do not return other bytes unchanged.
        func store(_ key: SealingKey, _ identity: String, label: String) throws {
            var text = Array(Base64URL.encode(key.bytes).utf8)
            defer { for index in text.indices { text[index] = 0 } }
            guard let value = library.valueNew(text, text.count, "text/plain") else {
                throw SecretServiceError.notSaved
            }
            defer { library.valueUnref(value) }
            let named = attributes(identity) + [("xdg:schema", SecretServiceThread.schema)]
            let isStored = try withAttributes(named) { table in
                try checked { library.store(service, nil, table, "default", label, value, cancellable, $0) }
            }
            guard isStored != 0 else { throw SecretServiceError.notSaved }
        }

        func delete(_ item: LibSecret.Pointer) throws {
            guard try checked({ library.itemDelete(item, cancellable, $0) }) != 0 else {
                throw SecretServiceError.notSaved
            }
        }

        /// Unlocks the default keyring for `body`. Returns whether it exists.
        @discardableResult
        func withDefaultKeyring(_ body: (LibSecret.Pointer) throws -> Void) throws -> Bool {
            let keyring = try checked { library.collectionForAlias(service, "default", 0, cancellable, $0) }
            guard let keyring else { return false }
            defer { library.unref(keyring) }
            if library.collectionIsLocked(keyring) != 0 { try unlock(keyring) }
            try body(keyring)
            return true
        }

        /// Unlocks a keyring, or the keyring of an item. The desktop prompts the user.
        private func unlock(_ object: LibSecret.Pointer) throws {
            guard allowsPrompts else { throw SecretServiceError.locked }
            let list = library.listAppend(nil, object)
            defer { library.listFree(list) }
            var unlocked: LibSecret.Pointer?
            let count = try checked { library.unlock(service, list, cancellable, &unlocked, $0) }
            objects(unlocked).forEach(library.unref)
            library.listFree(unlocked)
            guard count > 0 else { throw SecretServiceError.dismissed }
        }
    }
}
