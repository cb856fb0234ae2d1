import OAuth2AccountStore
import LoopbackHTTP
import Platform
import OAuth2Protocol

// What is looked at on this machine.
extension Diagnosis {
    mutating func look(at types: [AccountType], _ settings: Settings, _ dependencies: Dependencies) {
        let count = settings.types.count
        add(Finding(.settings, .ok, "\(count) account type\(count == 1 ? "" : "s") in \(settings.source)"))
        for type in types {
            let credentials = ClientCredentials(type: type, environment: dependencies.environment)
            do {
                _ = try credentials.secret()
                if type.clientKey != nil { _ = try credentials.signingKey() }
            } catch {
                add(Finding(.settings, of: type.name, failing: error))
            }
            guard let path = type.caFile else { continue }
            if case .failure(let failure) = OwnerOnlyFile.read(path, maximumSize: 8 << 20) {
                let error = SettingsError(
                    file: path, key: nil, expected: "the certificates of caFile, readable", found: failure.explanation,
                    hint: "correct caFile of \(type.name), or the mode of the file")
                add(Finding(.settings, of: type.name, failing: error))
            }
        }
    }

    /// Whether there is no store yet, or there cannot be one: then there is nothing more to look at in it.
    mutating func isMissing(_ storage: any AccountStorage) -> Bool {
        do throws(StorageError) {
            guard let storage = storage as? SQLiteStorage, try storage.isMissing() else { return false }
            if let failure = storage.unwritableFolder() { throw failure }
            add(Finding(.store, .ok, "no store yet; the first sign-in makes \(storage.location)"))
        } catch {
            add(Finding(.store, failing: error))
        }
        return true
    }

    mutating func addNobody() {
        add(Finding(.accounts, .warning, "nobody is signed in", remedy: "\(AccountRemedy.signIn(type: nil))"))
    }

    /// Looks whether the records can be read and written.
    mutating func isUsable(_ storage: any AccountStorage) async throws -> Bool {
        do {
            let count = try await storage.count(ofType: nil)
            try await storage.checkWritable()
            if let damage = try await (storage as? SQLiteStorage)?.errors().first {
                let failure = AccountStoreError(
                    .storage(.notAStore), what: "the store is damaged", reason: "\(storage.location): \(damage)",
                    remedy: .repairStore, hint: Self.salvage)
                add(Finding(.store, .problem, failure.reason, failure: failure))
                return true
            }
            add(
                Finding(
                    .store, .ok,
                    "\(count) account\(count == 1 ? "" : "s") in \(storage.location), which can be written"))
            return true
        } catch let error as CancellationError {
            throw error
        } catch {
            add(Finding(.store, failing: error))
            return false
        }
    }

    private static let salvage: Hint = "\(StorageRemedy.salvage)"

    mutating func look(
        at storage: any AccountStorage, _ custody: (any KeyCustody)?, _ places: KeyLocations?, _ settings: Settings?,
        _ dependencies: Dependencies, type: String?
    ) async throws {
        let store: AccountStore
        do {
            // Without settings of its own the store is opened with those of the presets: only its accounts are looked at.
            store = try await AccountStore(
                settings: try settings
                    ?? Settings(
                        types: try ProviderPreset.all.filter(\.isComplete).map { try $0.accountType() }),
                storage: storage, custody: custody, keyLocations: places, dependencies: dependencies,
                watchesOtherProcesses: false)
            add(Finding(.key, .ok, store.keyLocation))
        } catch let error as CancellationError {
            throw error
        } catch {
            let isStore = if case .storage? = (error as? AccountStoreError)?.kind { true } else { false }
            return add(Finding(isStore ? .store : .key, failing: error))
        }
        do {
            let accounts = try await store.accounts(ofType: type)
            try await lookAtLocks(storage, accounts)
            try await look(at: accounts, store, type, knowsTypes: settings != nil)
        } catch let error as CancellationError {
            throw error
        } catch {
            add(Finding(.accounts, failing: error))
        }
    }

    private mutating func lookAtLocks(_ storage: any AccountStorage, _ accounts: [Account]) async throws {
        var isFree = true
        for account in accounts {
            do {
                try await storage.lock("account:\(account.id)", timeout: .zero).release()
            } catch let error as StorageError where error.kind == .busy {
                isFree = false
                add(
                    Finding(
                        .locks, .warning, of: account.label, "another process is renewing its tokens",
                        remedy: "look again in a minute; if it stays so, end that process: its lock ends with it"))
            } catch let error as StorageError {
                return add(Finding(.locks, failing: error))
            }
        }
        if isFree { add(Finding(.locks, .ok, "none is held")) }
    }

    private mutating func look(
        at accounts: [Account], _ store: AccountStore, _ type: String?, knowsTypes: Bool
    ) async throws {
        for damaged in try await store.damagedRecords() where type == nil || damaged.type == type {
            let failure = AccountStoreError(
                .damagedRecord, what: "cannot read account \(damaged.id)",
                reason: "its record is damaged or sealed with another key", remedy: .signInAgain,
                hint:
                    "restore a copy of \(store.storageLocation), or \(AccountRemedy.removeAccount(id: damaged.id.rawValue))"
            )
            add(Finding(.accounts, .problem, of: "\(damaged.id)", failure.reason, failure: failure))
        }
        let now = store.dependencies.now()
        for account in accounts {
            guard !knowsTypes || store.settings[account.type] != nil else {
                add(
                    Finding(
                        .accounts, .warning, of: account.label,
                        "the settings have no account type \(account.type.debugDescription) any more",
                        remedy: "\(AccountRemedy.removeAccount(id: account.id.rawValue)), or put the type back"))
                continue
            }
            do {
                if knowsTypes { _ = try store.type(account.type, policy: account.policy) }
            } catch {
                add(Finding(.accounts, of: account.label, failing: error))
                continue
            }
            let hasEnded = !account.canRefresh && (account.accessTokenExpiry.map { $0 <= now } ?? false)
            guard let reason = account.signInNeeded ?? (hasEnded ? .noRefreshToken : nil) else {
                add(Finding(.accounts, .ok, of: account.label, "signed in"))
                continue
            }
            let failure = AccountStoreError(
                .signInNeeded(reason), what: "sign-in needed", reason: reason.explanation, remedy: .signInAgain)
            add(
                Finding(
                    .accounts, .problem, of: account.label, reason.explanation,
                    remedy: "\(AccountRemedy.signIn(type: account.type))", failure: failure))
        }
        if accounts.isEmpty { addNobody() }
    }

    /// Opens the port that the browser comes back to, and closes it again.
    mutating func lookAtRedirect(of type: AccountType) {
        let redirect = type.redirectURI
        guard redirect.isLoopback, let port = redirect.port, port != 0 else {
            let detail = redirect.isLoopback ? "a free port is taken" : "the browser comes back elsewhere"
            return add(Finding(.redirect, .ok, of: type.name, detail))
        }
        do throws(LoopbackError) {
            let listener = try LoopbackListener(
                host: redirect.host.filter { $0 != "[" && $0 != "]" }, port: port
            ) { _ in LoopbackResponse(status: 503) }
            listener.close()
            add(Finding(.redirect, .ok, of: type.name, "port \(port) is free"))
        } catch {
            let failure = AccountStoreError(
                .settings, what: "cannot wait for the browser", reason: "\(error)", remedy: .changeSettings,
                hint: LoopbackPort.hint(port, of: type.name))
            add(Finding(.redirect, .problem, of: type.name, failure.reason, failure: failure))
        }
    }
}
