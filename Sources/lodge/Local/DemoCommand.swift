import CurlHTTP
import CommandLineKit
import LodgePlatform
import DirectorySearch
import HTTPExchange
import LocalProvider
import OAuth2Protocol
import OAuth2AccountStore

/// `demo`: a full run over real HTTP without any setup. All values shown are received from the provider.
@MainActor struct DemoCommand: CommandHandler {
    nonisolated static let command = Command(
        "demo", "Try lodge with a local test provider; needs no account.",
        discussion: """
            demo starts a provider on loopback, signs in, searches, waits until the token expires, opens the store again and signs out. \
            Then it removes its files.
            """, examples: ["lodge demo"], formats: OutputFormat.ofText
    ) { try await DemoCommand(context: $0).run() }

    let context: CommandContext
    private let traffic = DemoTraffic()
    private let events = DemoEvents()

    /// Short, so that the demo can wait for the expiry.
    private static let tokenLifetime = Duration.seconds(2)
    private static let typeName = "demo"
    private static let maximumRows = 12

    func run() async throws -> ExitStatus {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let directory = StoreLocation("\(folder.hasSuffix("/") ? folder : folder + "/")lodge-demo-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        var configuration = LoopbackProvider.Configuration()
        configuration.accessTokenLifetime = Self.tokenLifetime
        // Only the first token expires soon: even on a slow machine there is exactly one refresh.
        configuration.refreshedAccessTokenLifetime = .seconds(3600)
        let provider = try await LoopbackProvider(configuration: configuration)
        do {
            try await play(provider, directory)
        } catch {
            await provider.shutDown()
            throw error
        }
        await provider.shutDown()
        try say("Stopped the provider and removed the files of the demo.")
        return .done
    }

    private func play(_ provider: LoopbackProvider, _ directory: StoreLocation) async throws {
        try say(
            "Started a provider at \(provider.issuer.absoluteString) with a directory of \(provider.users.count) sample users."
        )
        let settings = try settings(provider)
        var store = try await open(directory, settings)
        let account = try await signIn(store)
        try say(
            "Saved account \(account.id), encrypted, in \(store.storageLocation); its key is in \(store.keyLocation).")
        try await showEvents(1)

        let found = try await search(account, store)
        let writer = TableWriter(UserRecord.columns, on: console)
        for user in found.prefix(Self.maximumRows) { try writer.write(UserRecord(user: user)) }
        try writer.finish()
        if found.count > Self.maximumRows { try console.writeLine("(\(found.count - Self.maximumRows) more)") }
        try await showFirst(of: found, account, store)

        try await waitForExpiry(account)
        let again = try await search(account, store)
        let refreshes = provider.tokenRequestCount(grantType: "refresh_token")
        try check(again.map(\.id) == found.map(\.id) && refreshes == 1, "the search after the expiry")
        try say(
            "This needed \(refreshes) refresh. The new refresh token is \(traffic.rotation) the previous one."
        )
        try await showEvents(1)

        store = try await open(directory, settings)
        guard let saved = try await store.currentAccount(ofType: Self.typeName) else {
            throw wrong("the account is missing after opening the store again")
        }
        try say(
            "Opened the store again, as after a relaunch: it has \(saved.displayName ?? saved.label) (\(saved.label)).")
        let third = try await search(saved, store)
        try check(third.map(\.id) == found.map(\.id), "the search after the relaunch")
        try await showEvents(0)

        let report = try await store.signOut(saved.id)
        let left = try await store.accounts()
        try say(
            "Signed out: \(left.count) accounts left here; revocation at the provider: \(word(report.revocation)); "
                + "browser session: \(report.endSessionURL == nil ? "not offered" : "can be ended at the provider").")
        try await showEvents(1)
    }

    private func settings(_ provider: LoopbackProvider) throws -> Settings {
        var type = AccountType(
            name: Self.typeName, provider: .issuer(provider.issuer.absoluteString), clientID: provider.clientID,
            redirectURI: try RedirectURI("http://127.0.0.1/callback"),
            scope: ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"])
        type.graphAPI = provider.graphBase
        // The demo shows the parameters of the authorization request.
        type.pushedAuthorizationRequests = false
        return try Settings(types: [type], source: "the demo")
    }

    private func open(_ directory: StoreLocation, _ settings: Settings) async throws -> AccountStore {
        let transport = traffic.watching(CurlTransport(userAgent: Program.userAgent))
        let store = try await AccountStore(
            settings: settings, storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            dependencies: Dependencies(transport: transport))
        events.observe(store)
        return store
    }

    private func signIn(_ store: AccountStore) async throws -> Account {
        let browser = CurlTransport(userAgent: "the user's browser")
        let traffic = traffic
        let account = try await store.signIn(
            to: Self.typeName,
            by: .browser { url in
                traffic.note(authorization: url)
                _ = try await Approval().approve(url, transport: browser)
            })
        try say(
            "Signed in as \(account.displayName ?? account.label) (\(account.label)) with \(traffic.authorization); "
                + "granted: \(account.scope.text).")
        return account
    }

    private func search(_ account: Account, _ store: AccountStore) async throws -> [User] {
        let filter = UserFilter.givenName(startsWith: "A")
        var users: [User] = []
        for try await user in GraphDirectory(account: account, in: store).users(matching: filter) { users.append(user) }
        try say("Searched \(try filter.odata()): \(users.count) people.")
        return users
    }

    private func showFirst(of users: [User], _ account: Account, _ store: AccountStore) async throws {
        guard let id = users.first?.id else { throw wrong("the search found no user") }
        let user = try await GraphDirectory(account: account, in: store).user(id)
        try say("Read the first user, \(user.displayName ?? id):")
        try UserRecord(user: user).detail.write(to: console)
    }

    private func waitForExpiry(_ account: Account) async throws {
        guard let expiry = account.accessTokenExpiry else { throw wrong("the provider sent no expiry") }
        try say("Waiting for the access token to expire at \(expiry.rfc3339).")
        try console.flush()
        let left = expiry.timeIntervalSinceNow
        if left > 0 { try await Task.sleep(for: .seconds(left)) }
    }

    private func wrong(_ reason: String) -> CommandError {
        CommandError(.failed, "the demo failed", reason: reason)
    }

    private func check(_ condition: Bool, _ what: String) throws {
        guard !condition else { return }
        throw wrong("\(what) returned an unexpected result")
    }

    private func word(_ part: SignOutReport.Part) -> String {
        switch part {
        case .succeeded: "done"
        case .notOffered: "not offered"
        case .skipped: "not requested"
        case .failed(let reason): "failed (\(reason))"
        }
    }

    private func showEvents(_ count: Int) async throws {
        for event in await events.take(count) { try console.writeLine("      event: \(event.visible)") }
    }

    private func say(_ sentence: String) throws {
        try console.writeLine("* " + sentence.visible)
        try console.flush()
    }
}
