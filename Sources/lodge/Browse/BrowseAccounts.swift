import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2Protocol
import OAuth2AccountStore

/// The accounts as the browser knows them, and which one it uses in this run.
@MainActor
final class BrowseAccounts {
    /// Where people of the account in use are looked for.
    struct Place {
        var account: Account
        var directory: any UserDirectory
        /// The copy on this machine. It may not be there.
        var copy: OfflineDirectory
    }

    private let context: CommandContext
    private let inbox: EventQueue
    private let store: AccountStore
    private var watching: Task<Void, Never>?
    /// What a directory demands that the next sign-in carries, by account.
    private var demanded: [Account.ID: String] = [:]
    /// The accounts that were told of last.
    private var known: [Account.ID: Account] = [:]

    /// The account in use, and where its people are; nil without an account.
    private(set) var location: Place?

    /// Opens the store. Nobody signed in is no error here; an account that is named and not there is one.
    init(_ context: CommandContext, _ inbox: EventQueue) async throws {
        self.context = context
        self.inbox = inbox
        var dependencies = context.dependencies()
        let timeout = context.invocation[GlobalOptions.timeout]
        let (transport, certified) = (dependencies.transport, dependencies.certifiedTransport)
        dependencies.transport = { RequestLog(transport($0), timeout, inbox) }
        dependencies.certifiedTransport = { RequestLog(certified($0, $1), timeout, inbox) }
        store = try await context.store(
            try context.settings(), dependencies: dependencies, watchesOtherProcesses: true)
        do {
            use(try await context.account(store))
        } catch let error as CommandError where error.status == .signInNeeded {
            return
        }
    }

    private func use(_ account: Account) {
        location = Place(
            account: account, directory: account.directory(in: store, retry: .never),
            copy: OfflineDirectory(account: account.id, in: context.storeDirectory))
    }

    // MARK: The list

    /// Uses another account in this run, at once: the search that follows is already that account's. One that is gone by now is none,
    /// and what is told then says so.
    func choose(_ id: Account.ID) {
        location = nil
        if let account = known[id] { use(account) }
    }

    /// Tells of the accounts whose directory can be looked into, and of the one in use.
    func tell() async {
        let all = try? await store.accounts()
        // A store that cannot be read for now tells nothing new, and whoever asks anew is told then.
        guard !Task.isCancelled, all != nil || known.isEmpty else { return }
        let accounts = (all ?? []).filter {
            $0.id == location?.account.id || store.settings[$0.type]?.graphAPI != nil
        }
        // Another process has removed the one in use.
        if let location, !accounts.contains(where: { $0.id == location.account.id }) {
            self.location = nil
            if let next = accounts.first(where: { $0.type == location.account.type }) { use(next) }
        }
        // Nobody was signed in, and another process did it: there is no choice to make.
        if location == nil, accounts.count == 1, let only = accounts.first, isWanted(only.type) { use(only) }
        known = Dictionary(accounts.map { ($0.id, $0) }) { first, _ in first }
        let listed = accounts.map {
            BrowseAccount(
                id: $0.id, label: TerminalText.visible($0.label), type: $0.type, needsSignIn: $0.signInNeeded != nil)
        }
        inbox.post(.accounts(BrowseAccount.disambiguated(listed), current: location?.account.id))
    }

    /// Whether people of this type were not ruled out on the command line.
    private func isWanted(_ type: String) -> Bool {
        context.invocation[GlobalOptions.type].map { $0 == type } ?? true
    }

    /// Tells what other processes change, from now on.
    func watch() {
        let events = store.events()
        watching = Task { [weak self] in
            for await event in events {
                switch event {
                // Nothing that is shown.
                case .accessTokenChanged, .accessTokenFailed, .userDataChanged, .signInFailed: continue
                default: break
                }
                guard let self else { return }
                await self.tell()
            }
        }
    }

    var types: [String] { store.settings.types.filter { $0.graphAPI != nil }.map(\.name) }

    func stop() { watching?.cancel() }

    // MARK: Signing in

    /// Remembers what a directory demands of the next sign-in.
    func note(_ error: any Error) {
        guard let id = location?.account.id else { return }
        switch error {
        case let error as DirectoryError:
            if case .signInNeeded(let claims?) = error.kind { demanded[id] = claims }
        case let error as AccountStoreError:
            if let claims = error.provider?.claims { demanded[id] = claims }
        default: break
        }
    }

    /// Signs in and uses the account from then on.
    func signIn(_ number: Int, _ target: SignInTarget) async {
        do {
            var options = SignInOptions()
            var type = context.typeName(store.settings)
            if case .another(let named?) = target { type = named }
            if case .account(let id) = target, let account = try await store.account(id) {
                type = account.type
                options.loginHint = account.userName
                options.claims = demanded[id]
            } else if try await !store.accounts(ofType: type).isEmpty {
                // Otherwise the browser would give the account that is there already.
                options.prompt = [.selectAccount]
            }
            let way = try await SignInFlow.byItself(type, store, context.world)
            let account: Account
            do {
                account = try await store.signIn(to: type, by: method(way, number), options: options)
            } catch let error as AccountStoreError {
                throw way.explaining(error, type: type)
            }
            demanded[account.id] = nil
            use(account)
            inbox.post(.signIn(number, .done(label: TerminalText.visible(account.label))))
            await tell()
        } catch {
            guard !Task.isCancelled else { return }
            var failure = BrowseFailure(reporting: error)
            // What is said of a sign-in that was saved is untrue where there is none.
            if known.isEmpty {
                failure.hint = failure.hint?.replacing("; the saved sign-in is untouched", with: "")
            }
            inbox.post(.signIn(number, .failed(failure)))
        }
    }

    private func method(_ way: SignInFlow, _ number: Int) -> SignInMethod {
        let inbox = inbox
        if case .device = way {
            return .device { prompt in
                inbox.post(
                    .signIn(number, .code(prompt.userCode, address: prompt.verificationURI.absoluteString)))
            }
        }
        let open = store.dependencies.openBrowser
        return .browser { url in
            inbox.post(.signIn(number, .browser(address: url.absoluteString)))
            // Where it does not open, the address is there to be opened by hand.
            if case .browser(opens: true, because: _) = way { try? await open(url) }
        }
    }
}
