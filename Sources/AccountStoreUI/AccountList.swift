public import OAuth2AccountStore
public import Observation

/// The accounts of a store for a user interface. It follows the changes by this app, its extensions and other processes.
///
/// ```swift
/// struct AccountsView: View {
///     @State var list: AccountList
///
///     var body: some View {
///         List(list.accounts) { Text($0.userName ?? "Account") }
///     }
/// }
/// ```
@MainActor @Observable
public final class AccountList {
    /// The activity of the list.
    public enum State: Sendable {
        /// The list reads the accounts of the store.
        case loading
        /// The accounts are complete.
        case ready
        /// The user signs in to an account of this type.
        case signingIn(type: String)
        /// The list signs out this account.
        case signingOut(Account.ID)
        /// The last task failed. The accounts are unchanged.
        case failed(any Error)
    }

    /// The accounts in the order of the store.
    public private(set) var accounts: [Account] = []
    /// The account in use, if there is one.
    public private(set) var current: Account?
    /// The activity of the list.
    public private(set) var state = State.loading

    /// The store of the accounts.
    public nonisolated let store: AccountStore
    private let type: String?
    @ObservationIgnored private var observation: Task<Void, Never>?

    /// Creates the list of the accounts of a store, and loads them.
    ///
    /// - Parameter type: The type of the accounts in the list. The default is all types.
    public init(_ store: AccountStore, ofType type: String? = nil) {
        self.store = store
        self.type = type
        // Subscribe before the first load, so that no change between the two is lost.
        let events = store.events()
        observation = Task { [weak self] in
            await self?.load()
            for await event in events {
                guard let self else { return }
                switch event {
                // The accounts are unchanged.
                case .signInFailed, .accessTokenFailed: break
                default: await self.load()
                }
            }
        }
    }

    deinit { observation?.cancel() }

    /// Signs in to an account, which becomes the current one of its type. If the user cancels, the list is unchanged.
    public func signIn(to type: String, by method: SignInMethod, options: SignInOptions = SignInOptions()) async {
        await run(.signingIn(type: type)) { [store] in
            try await store.signIn(to: type, by: method, options: options)
        }
    }

    /// Makes an account the current one.
    public func makeCurrent(_ account: Account) async {
        await run(.loading) { [store] in try await store.makeCurrent(account) }
    }

    /// Revokes the tokens of an account and removes it.
    ///
    /// - Returns: The results of the parts, or `nil` if the account is still there: then ``state`` has the error.
    @discardableResult
    public func signOut(_ id: Account.ID) async -> SignOutReport? {
        await run(.signingOut(id)) { [store] in try await store.signOut(id) }
    }

    /// Runs a task of the user. Its result is in the list when it returns.
    @discardableResult
    private func run<Value: Sendable>(
        _ activity: State, _ task: @Sendable () async throws -> Value
    ) async -> Value? {
        state = activity
        do {
            let value = try await task()
            state = .loading
            await load()
            return value
        } catch let error as AccountStoreError where error.kind == .cancelled {
            state = .ready
        } catch {
            state = .failed(error)
        }
        return nil
    }

    private func load() async {
        do {
            let accounts = try await store.accounts(ofType: type)
            let current =
                if let type { try await store.currentAccount(ofType: type) } else { try await store.activeAccount() }
            self.accounts = accounts
            self.current = current
            // Another state belongs to a task of the user.
            if case .loading = state { state = .ready }
        } catch {
            if case .loading = state { state = .failed(error) }
        }
    }
}
