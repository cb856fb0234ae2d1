import OAuth2AccountStore
import LoopbackHTTP
import LodgePlatform
import OAuth2Protocol

// The checks of this machine.
extension Diagnosis {
    mutating func checkSettings(
        _ settings: Settings, _ types: [AccountType], _ dependencies: Dependencies, type: String?
    ) async throws {
        let count = settings.types.count
        let usable = settings.unusableTypes.isEmpty ? "" : "usable "
        add(.settings, .ok, "\(count) \(usable)account type\(count == 1 ? "" : "s") in \(settings.source)")
        for unusable in settings.unusableTypes where type == nil || unusable.name == type {
            add(.settings, of: unusable.name, failing: unusable.error)
        }
        for secret in settings.exposedSecrets(of: types) {
            add(
                .settings, .warning, of: secret.type,
                "\(secret.key) is not secret: \(secret.problem.path): \(secret.problem.reason)",
                remedy: secret.problem.command.map { "run: \($0)" })
        }
        for type in types {
            let credentials = ClientCredentials(type: type, environment: dependencies.environment)
            do {
                _ = try credentials.secret()
                if type.clientKey != nil { _ = try credentials.signingKey() }
                if let certificate = try await ClientCertificateState(of: type, dependencies) {
                    add(
                        .settings, certificate.remedy == nil ? .ok : .warning, of: type.name,
                        "the certificate \(certificate.detail)", remedy: certificate.remedy)
                }
            } catch let error where error.isCancellation {
                throw error
            } catch {
                add(.settings, of: type.name, failing: error)
            }
            guard let path = type.caFile else { continue }
            if case .failure(let failure) = OwnerOnlyFile.read(path, maximumSize: 8 << 20) {
                let error = SettingsError(
                    file: path, key: nil, expected: "the certificates of caFile, readable", found: failure.explanation,
                    hint: "correct caFile of \(type.name), or the mode of the file")
                add(.settings, of: type.name, failing: error)
            }
        }
    }

    /// Checks the store, its key, the locks and the accounts.
    ///
    /// - Parameter settings: The account types; `nil` to check only the accounts.
    mutating func checkStore(
        _ storage: any AccountStorage, _ custody: (any KeyCustody)?, _ locations: KeyLocations?, _ settings: Settings?,
        _ dependencies: Dependencies, type: String?
    ) async throws {
        if await isMissing(storage) { return addNoAccounts() }
        guard try await isUsable(storage) else { return }
        await checkRescueFiles(storage)
        let store: AccountStore
        do {
            // Without settings, open the store with the presets, because only its accounts are checked.
            let presets = { try ProviderPreset.all.filter(\.isComplete).map { try $0.accountType() } }
            store = try await AccountStore(
                settings: try settings ?? Settings(types: try presets()), storage: storage, custody: custody,
                keyLocations: locations, dependencies: dependencies, watchesOtherProcesses: false)
            add(.key, .ok, store.keyLocation)
        } catch let error where error.isCancellation {
            throw error
        } catch {
            let isStore = if case .storage? = (error as? AccountStoreError)?.kind { true } else { false }
            return add(isStore ? .store : .key, failing: error)
        }
        do {
            let accounts = try await store.accounts(ofType: type)
            try await checkLocks(storage, accounts)
            try await checkAccounts(accounts, store, type, knowsTypes: settings != nil)
        } catch let error where error.isCancellation {
            throw error
        } catch {
            add(.accounts, failing: error)
        }
    }

    /// Returns whether there is no store yet, or no store can be created.
    private mutating func isMissing(_ storage: any AccountStorage) async -> Bool {
        do {
            guard try await storage.isMissing() else { return false }
            if let failure = (storage as? SQLiteStorage)?.unwritableFolder() { throw failure }
            add(.store, .ok, "no store yet; the first sign-in creates \(storage.location)")
        } catch {
            add(.store, failing: error)
        }
        return true
    }

    private mutating func addNoAccounts() {
        add(.accounts, .warning, "no account is signed in", remedy: "\(AccountRemedy.signIn(type: nil))")
    }

    /// Returns whether the records can be read and written.
    private mutating func isUsable(_ storage: any AccountStorage) async throws -> Bool {
        do {
            let count = try await storage.count(ofType: nil)
            try await storage.checkWritable()
            try await (storage as? SQLiteStorage)?.checkIntegrity()
            let accounts = "\(count) account\(count == 1 ? "" : "s")"
            add(.store, .ok, "\(accounts) in \(storage.location), which is writable")
            if (storage as? SQLiteStorage)?.hasOtherNames == true {
                add(
                    .store, .warning, "\(storage.location) has a hard link in another folder, which has other locks",
                    remedy: "remove the other one: processes that open the store by different names can damage it, "
                        + "or send the same refresh token")
            }
            return true
        } catch let error where error.isCancellation {
            throw error
        } catch {
            add(.store, failing: error)
            return false
        }
    }

    /// Reports tokens that a refresh could not save. Opening the store imports them.
    private mutating func checkRescueFiles(_ storage: any AccountStorage) async {
        guard let folder = (storage as? any RecordRescue)?.rescueFolder else { return }
        for file in (try? await folder.files()) ?? [] where file.record != nil {
            add(
                .store, .warning, "an earlier refresh could not save its tokens in the store; they are in \(file.path)",
                remedy: "no action is needed: the next use of the account saves them")
        }
        for path in await folder.damagedFiles() {
            add(
                .store, .warning, "\(path) is a damaged file with the tokens of an earlier refresh",
                remedy: "remove it if the account still works; otherwise \(AccountRemedy.signIn(type: nil))")
        }
    }

    private mutating func checkLocks(_ storage: any AccountStorage, _ accounts: [Account]) async throws {
        var isFree = true
        for account in accounts {
            do {
                try await storage.lock("account:\(account.id)", timeout: .zero).release()
            } catch let error as StorageError where error.kind == .busy {
                isFree = false
                add(
                    .locks, .warning, of: account.label, Self.lockState(error, account),
                    remedy: error.isLeased
                        ? error.hint
                        : error.lockHolder?.remedy
                            ?? "check again in a minute; if the lock remains, end the process that uses the store")
            } catch let error as StorageError {
                return add(.locks, failing: error)
            }
        }
        if isFree { add(.locks, .ok, "no lock is held") }
    }

    private static func lockState(_ error: StorageError, _ account: Account) -> String {
        if error.isLeased { return error.reason }
        let lock = "the lock of account \(account.label)"
        return error.lockHolder?.holds(lock) ?? "another process holds \(lock)"
    }

    private mutating func checkAccounts(
        _ accounts: [Account], _ store: AccountStore, _ type: String?, knowsTypes: Bool
    ) async throws {
        for damaged in try await store.damagedRecords() where type == nil || damaged.type == type {
            let removal = AccountRemedy.removeAccount(id: damaged.id.rawValue)
            add(
                .accounts, of: "\(damaged.id)",
                failing: AccountStoreError(
                    .damagedRecord, what: "cannot read account \(damaged.id)",
                    reason: "its record is damaged or sealed with another key", remedy: .signInAgain,
                    hint: "restore a copy of \(store.storageLocation), or \(removal)"))
        }
        let now = store.dependencies.now()
        for account in accounts {
            guard !knowsTypes || store.settings.typeNames.contains(account.type) else {
                add(
                    .accounts, .warning, of: account.label,
                    "the settings no longer have the account type \(account.type.debugDescription)",
                    remedy: "\(AccountRemedy.removeAccount(id: account.id.rawValue)), or restore the type")
                continue
            }
            do {
                if knowsTypes { _ = try store.type(account.type, policy: account.policy) }
            } catch {
                add(.accounts, of: account.label, failing: error)
                continue
            }
            let hasEnded = !account.canRefresh && (account.accessTokenExpiry.map { $0 <= now } ?? false)
            guard let reason = account.signInNeeded ?? (hasEnded ? .noRefreshToken : nil) else {
                add(.accounts, .ok, of: account.label, "signed in")
                continue
            }
            let failure = AccountStoreError(
                .signInNeeded(reason), what: "sign-in needed", reason: reason.explanation, remedy: .signInAgain)
            add(
                .accounts, .problem, of: account.label, reason.explanation,
                remedy: "\(AccountRemedy.signIn(type: account.type))", failure: failure)
        }
        if accounts.isEmpty { addNoAccounts() }
    }

    /// Checks the redirect port by opening and closing it.
    mutating func checkRedirect(of type: AccountType) {
        guard type.provider != .staticToken, !type.grant.isOfApplication else { return }
        let redirect = type.redirectURI
        guard redirect.isLoopback, let port = redirect.port, port != 0 else {
            let detail = redirect.isLoopback ? "uses a free port" : "the browser does not return to this machine"
            return add(.redirect, .ok, of: type.name, detail)
        }
        do throws(LoopbackError) {
            let listener = try LoopbackListener(
                host: redirect.host.filter { $0 != "[" && $0 != "]" }, port: port
            ) { _ in LoopbackResponse(status: 503) }
            listener.close()
            add(.redirect, .ok, of: type.name, "port \(port) is free")
        } catch {
            add(
                .redirect, of: type.name,
                failing: AccountStoreError(
                    .settings, what: "cannot wait for the browser", reason: "\(error)", remedy: .changeSettings,
                    hint: LoopbackPort.hint(port, of: type.name)))
        }
    }
}
