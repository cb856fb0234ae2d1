import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2Protocol
import OAuth2AccountStore

/// The accounts of the browser and the current account.
@MainActor final class BrowseAccounts {
    struct ActiveAccount {
        var account: Account
        var directory: any UserDirectory
        /// The offline copy, which may not exist.
        var copy: OfflineDirectory
    }

    private let context: CommandContext
    private let inbox: EventQueue
    private let store: AccountStore
    private let storeDirectory: StoreLocation
    private var watching: Task<Void, Never>?
    /// The claims that a directory requires of the next sign-in, by account.
    private var requiredClaims: [BrowseAccount.ID: String] = [:]
    /// The accounts published last.
    private var known: [BrowseAccount.ID: Account] = [:]

    /// The account in use and its directories.
    private(set) var active: ActiveAccount?

    /// Creates the list from the store. Without a sign-in there is no active account.
    ///
    /// - Throws: an error if the account of the command line does not exist.
    init(_ context: CommandContext, _ inbox: EventQueue) async throws {
        self.context = context
        self.inbox = inbox
        storeDirectory = try context.storeDirectory
        var dependencies = context.dependencies()
        let timeout = context.invocation[GlobalOptions.timeout]
        let (transport, certified) = (dependencies.transport, dependencies.certifiedTransport)
        dependencies.transport = { RequestLog(inner: transport($0), timeout: timeout, inbox: inbox) }
        dependencies.certifiedTransport = { RequestLog(inner: certified($0, $1), timeout: timeout, inbox: inbox) }
        store = try await context.store(
            dependencies: dependencies, watchesOtherProcesses: true)
        do {
            use(try await context.account(store))
        } catch let error as CommandError where error.status == .signInNeeded {
            return
        }
    }

    private func use(_ account: Account) {
        active = ActiveAccount(
            account: account, directory: account.directory(in: store, retry: .never),
            copy: OfflineDirectory(account: account.id, in: storeDirectory))
    }

    // MARK: The list

    /// Switches to another account, or to no account if another process removed it.
    func choose(_ id: BrowseAccount.ID) {
        active = nil
        if let account = known[id] { use(account) }
    }

    /// Publishes the accounts with a directory and the current account.
    func publish() async {
        let all = try? await store.accounts()
        // If the store cannot be read, nothing changes: the next call publishes the accounts.
        guard !Task.isCancelled, all != nil || known.isEmpty else { return }
        let accounts = (all ?? []).filter { $0.id == active?.account.id || store.settings[$0.type]?.graphAPI != nil }
        // Another process removed the account in use.
        if let active, !accounts.contains(where: { $0.id == active.account.id }) {
            self.active = nil
            if let next = accounts.first(where: { $0.type == active.account.type }) { use(next) }
        }
        // Another process added the first account, so it becomes active.
        if active == nil, accounts.count == 1, let only = accounts.first, allowsType(only.type) { use(only) }
        known = Dictionary(accounts.map { ($0.id.rawValue, $0) }) { first, _ in first }
        let listed = accounts.map {
            BrowseAccount(
                id: $0.id.rawValue, label: $0.label.visible, type: $0.type, needsSignIn: $0.signInNeeded != nil)
        }
        inbox.post(.accounts(BrowseAccount.disambiguated(listed), current: active?.account.id.rawValue))
    }

    /// Returns whether the command line allows accounts of this type.
    private func allowsType(_ type: String) -> Bool {
        context.invocation[GlobalOptions.type].map { $0 == type } ?? true
    }

    func watch() {
        let events = store.events()
        watching = Task { [weak self] in
            for await event in events {
                switch event {
                // These events change nothing on the screen.
                case .accessTokenChanged, .accessTokenFailed, .userDataChanged, .signInFailed: continue
                default: break
                }
                guard let self else { return }
                await self.publish()
            }
        }
    }

    var types: [String] { store.settings.types.filter { $0.graphAPI != nil }.map(\.name) }

    func stop() { watching?.cancel() }

    // MARK: Sign-in

    /// Saves the claims that a directory requires for the next sign-in.
    func note(_ error: any Error) {
        guard let id = active?.account.id.rawValue else { return }
        switch error {
        case let error as DirectoryError:
            if case .signInNeeded(let claims?) = error.kind { requiredClaims[id] = claims }
        case let error as AccountStoreError:
            if let claims = error.provider?.claims { requiredClaims[id] = claims }
        default: break
        }
    }

    func signIn(_ number: Int, _ target: SignInTarget) async {
        do {
            var options = SignInOptions()
            var type = context.typeName(store.settings)
            if case .another(let named?) = target { type = named }
            if case .account(let id) = target, let account = try await store.account(Account.ID(rawValue: id)) {
                type = account.type
                options.loginHint = account.userName
                options.claims = requiredClaims[id] ?? account.requiredClaims
            } else if try await !store.accounts(ofType: type).isEmpty {
                // Otherwise the provider would return the current user.
                options.prompt = [.selectAccount]
            }
            let flow = try await SignInFlow.byItself(type, store, context.world)
            let account: Account
            do {
                account = try await store.signIn(to: type, by: method(flow, number), options: options)
            } catch let error as AccountStoreError {
                throw flow.explaining(error, type: type)
            }
            requiredClaims[account.id.rawValue] = nil
            use(account)
            inbox.post(.signIn(number, .done(label: account.label.visible)))
            await publish()
        } catch {
            guard !Task.isCancelled else { return }
            var failure = BrowseFailure(reporting: error)
            // Without accounts this part of the hint does not apply.
            if known.isEmpty {
                failure.hint = failure.hint?.replacing("; no account was changed", with: "")
            }
            inbox.post(.signIn(number, .failed(failure)))
        }
    }

    private func method(_ flow: SignInFlow, _ number: Int) -> SignInMethod {
        let inbox = inbox
        if case .device = flow {
            return .device { prompt in
                inbox.post(.signIn(number, .code(prompt.userCode, address: prompt.verificationURI.absoluteString)))
            }
        }
        let open = store.dependencies.openBrowser
        return .browser { url in
            inbox.post(.signIn(number, .browser(address: url.absoluteString)))
            // If the browser does not open, the user can open the URL that is shown.
            if case .browser(opens: true, because: _) = flow { try? await open(url) }
        }
    }
}
