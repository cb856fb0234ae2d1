import CurlHTTP
import AgentProtocol
import CommandLineKit
import LodgeAgent
import TerminalBrowser
import LodgePlatform
import HTTPExchange
import OAuth2AccountStore
import Synchronization

/// The dependencies of a command.
struct CommandEnvironment {
    var console: Console
    var environment: [String: String]
    /// Reads standard input to its end, up to `limit` bytes.
    var readInput: @MainActor (_ limit: Int) throws -> [UInt8] = StandardInput.read
    /// Reads standard input line by line as it arrives.
    var inputLines: @MainActor () -> LineReader = LineReader.standardInput
    /// Returns the available bytes of standard input, waiting until a time. No bytes are the end, `nil` is the time.
    var readAvailable: @MainActor (_ until: ContinuousClock.Instant) throws -> [UInt8]? = StandardInput.readAvailable
    /// Returns whether standard output accepts a message before a time.
    var acceptsOutput: @MainActor (_ until: ContinuousClock.Instant) throws -> Bool = StandardInput.acceptsOutput
    /// Loads the library of encrypted requests.
    var loadSodium: @MainActor () throws -> LibSodium = { try LibSodium() }
    /// Copies standard input to its end into a new file, readable only by the user.
    var copyInput: @MainActor (_ path: String) throws -> Void = StandardInput.copy
    /// Reads a line of standard input, up to `limit` bytes. Returns `nil` at the end.
    var readLine: @MainActor @Sendable (_ limit: Int) async throws -> String? = StandardInput.readLine
    /// Reads a line like ``readLine`` without showing it on the terminal.
    var readHiddenLine: @MainActor @Sendable (_ limit: Int) async throws -> String? = StandardInput.readHiddenLine
    /// Opens a URL. The default, `nil`, is the user's browser.
    var openBrowser: (@Sendable (URL) async throws -> Void)?
    var qrCode: @Sendable (String) throws -> QRCode = { try QRCode($0) }
    /// Replaces this process with another program. Returns only on failure, with `errno`.
    var replaceProcess: @MainActor (_ words: [String], _ environment: [String: String]) -> Int32 =
        ProcessReplacement.replace
    /// The program of `exec` that runs as a child of this process.
    let program = ForegroundProcess()
    /// Runs a program as a child until it ends, and returns its exit status.
    var runProgram:
        @MainActor @Sendable (_ words: [String], _ environment: [String: String], ForegroundProcess) async -> Result<
            Int32, SystemError
        > = { await $2.run($0, environment: $1) }
    /// Opens the terminal of `browse`, which posts its keys to this queue.
    ///
    /// The default, `nil`, is the terminal of the process.
    var browseTerminal: (@MainActor (EventQueue) async throws -> any BrowseTerminal)?
    /// Connects standard input and output to the terminal of the session.
    var takeControllingTerminal: @MainActor () throws(TerminalError) -> ControllingTerminal = {
        () throws(TerminalError) in try ControllingTerminal()
    }
    var sleep: (@Sendable (Duration) async throws -> Void)?
    /// What the agent did for this command line.
    var delegation = Delegation.none
    /// Sends a message with descriptors to the agent at a path.
    var askAgent:
        @MainActor (_ line: [UInt8], _ descriptors: [Int32], _ path: String) throws(AgentSocket.Problem)
            -> AgentResponse? = { (line, descriptors, path) throws(AgentSocket.Problem) in
                try AgentClient.ask(line, descriptors: descriptors, at: path)
            }
    /// Opens the sockets for the agent that replaces this process, and returns the arguments of the agent.
    var prepareAgent:
        @MainActor (
            _ program: String, _ options: AgentOptions, _ path: () throws(AgentSocket.Problem) -> String
        ) throws(ListeningSocket.Failure) -> [String] = { (program, options, path) throws(ListeningSocket.Failure) in
            try AgentProcess.prepare(program: program, version: Program.version, options: options, path: path)
        }
    /// Starts the agent in the background. `nil` if this process never does.
    var startAgent: (@MainActor () -> Void)?
    /// Asks the user whether a command may use an account through the agent. `nil` outside the agent.
    var useConfirmation: UseConfirmation?
    /// The key that the agent has, and the identifier of its store.
    var agentKey: (key: any KeyCustody, store: String)?
    /// The open transports of a worker of the agent.
    var transports: OpenTransports?
    /// Tells the agent how long the output is valid.
    var outputValidity: OutputValidity?
    let stores = OpenStores()

    /// Returns the value of a variable, or `nil` if it is empty or not set.
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
}

/// The stores opened by a command.
///
/// Before the program ends, even if interrupted, it completes the token requests that these stores sent.
final class OpenStores: Sendable {
    private let stores = Mutex<[AccountStore]>([])
    private let accountType = Mutex<String?>(nil)

    /// The type of the account in use, or `nil` before an account is selected. Commands in hints name it.
    var usedType: String? {
        get { accountType.withLock { $0 } }
        set { accountType.withLock { $0 = newValue } }
    }

    /// The store that was opened first.
    var first: AccountStore? { stores.withLock { $0.first } }

    func add(_ store: AccountStore) { stores.withLock { $0.append(store) } }

    /// Waits until the tokens of the sent requests are saved.
    func endRefreshes() async -> EndedRefreshes {
        var ended = EndedRefreshes()
        for store in stores.withLock({ $0 }) { ended += await store.endRefreshes() }
        return ended
    }
}

/// The context of one command line: its options, console and store.
@MainActor struct CommandContext {
    let command: Command
    let invocation: Invocation
    let world: CommandEnvironment
    private let start = ContinuousClock.now

    var console: Console { world.console }

    /// Returns the settings: from `--settings`, otherwise from the environment, the user's own file, or the built-in
    /// presets.
    ///
    /// - Parameter type: the account type named by an argument.
    func settings(for type: String? = nil) throws -> Settings {
        if let settings = try addingPreset(type, to: settingsOfFile()) { return settings }
        if let settings = try settingsOfPresets() { return settings }
        guard let settingsDirectory else { throw CommandError.homeless }
        throw CommandError(
            .settings, "no settings", reason: "\(settingsDirectory)/settings.json does not exist",
            hint: "\(run: "providers add") entra --client-id ID, or use --settings FILE; "
                + "to try lodge without an account, run: lodge demo")
    }

    /// The folder of the user's settings, or `nil` if the environment has no home folder.
    ///
    /// It is never relative to the current folder, where another user may have put a file, because it decides where
    /// tokens are sent.
    var settingsDirectory: String? {
        if let base = world.environment["XDG_CONFIG_HOME"], base.hasPrefix("/") { return base + "/lodge" }
        guard let home = world.environment["HOME"], home.hasPrefix("/") else { return nil }
        return home + "/.config/lodge"
    }

    /// Returns the network and clock dependencies with the options of the command line.
    func dependencies() -> Dependencies {
        let caFile = invocation[GlobalOptions.caFile]
        let deadline = deadline
        let signInLimit = command.timeoutUse == .signIn ? invocation[GlobalOptions.timeout] : nil
        let report = ActivityReport(console)
        let open = world.transports
        @Sendable func transport(_ typeFile: String?, _ certificate: ClientCertificate?) -> any HTTPTransport {
            let file = typeFile ?? caFile
            let curl =
                open.flatMap { certificate == nil ? $0.transport(caFile: file) : nil }
                ?? CurlTransport(userAgent: Program.userAgent, caFile: file, clientCertificate: certificate)
            var limited: any HTTPTransport = curl
            if let deadline { limited = DeadlineTransport(inner: curl, deadline: deadline) }
            if let signInLimit { limited = SignInTransport(inner: curl, limit: signInLimit) }
            return report.isSilent ? limited : ReportedTransport(inner: limited, report: report)
        }
        var dependencies = Dependencies(environment: world.environment) { transport($0, nil) }
        dependencies.certifiedTransport = { transport($0, $1) }
        dependencies.report = { await report.write($0) }
        if let open = world.openBrowser { dependencies.openBrowser = open }
        if let sleep = world.sleep { dependencies.sleep = sleep }
        if command.timeoutUse == .command, let timeout = invocation[GlobalOptions.timeout] {
            dependencies.refreshTimeout = max(timeout, dependencies.refreshTimeout)
        }
        if let end = deadline ?? signInLimit.map({ start + $0 }) {
            let timer = dependencies.timer
            dependencies.retryDelay = { duration in
                guard ContinuousClock.now + duration < end else { throw DeadlineTransport.tooLate }
                try await timer(duration)
            }
        }
        if let deadline {
            dependencies.peerCertificates = { url in
                let left = max(.zero, deadline - ContinuousClock.now)
                return try await PeerCertificate.chain(of: url, timeout: min(left, .seconds(10)))
            }
            let sleep = dependencies.sleep
            dependencies.sleep = { duration in
                // Fail now instead of waiting past the deadline.
                guard ContinuousClock.now + duration < deadline else { throw DeadlineTransport.tooLate }
                try await sleep(duration)
            }
        }
        return dependencies
    }

    /// The time at which `--timeout` ends the command.
    var deadline: ContinuousClock.Instant? {
        guard command.timeoutUse == .command, command.hasDeadline(invocation) else { return nil }
        return invocation[GlobalOptions.timeout].map { start + $0 }
    }

    /// Returns a sentence whose commands repeat `--store` and `--settings` of this command line.
    func text(_ sentence: Hint) -> String { invocation.remedyText.hint(sentence).description }

    /// Opens the store. If it does not exist, returns an empty one in memory, unless `makesStore` is true.
    ///
    /// By default, the dependencies follow the command line.
    func store(
        _ settings: Settings? = nil, makesStore: Bool = false, dependencies: Dependencies? = nil,
        watchesOtherProcesses: Bool = false
    ) async throws -> AccountStore {
        let settings = try settings ?? self.settings()
        let dependencies = dependencies ?? self.dependencies()
        warnAboutSecrets(of: settings)
        for type in settings.unusableTypes {
            console.verbose("Cannot use the account type \(type.name): \(type.error)")
        }
        let storage = try storage(sleep: dependencies.sleep)
        let locations = try keyLocations()
        let isInMemory: Bool
        do {
            isInMemory = makesStore || watchesOtherProcesses ? false : try await storage.isMissing()
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot open the account store")
        }
        let store = try await AccountStore(
            settings: settings, storage: isInMemory ? MemoryStorage(inPlaceOf: storage.location) : storage,
            custody: isInMemory ? MemoryKey(inPlaceOf: locations.choice ?? .keyFile, in: try storeDirectory) : nil,
            keyLocations: locations, dependencies: dependencies,
            watchesOtherProcesses: watchesOtherProcesses)
        world.stores.add(store)
        return store
    }

    /// Prints a warning for each secret that other users can read.
    private func warnAboutSecrets(of settings: Settings) {
        for secret in settings.exposedSecrets(of: settings.types) {
            console.note(
                "Warning: \(secret.key) of \(secret.type) is not secret: \(secret.problem.path): \(secret.problem.reason)."
                    + (secret.problem.command.map { " To change this, run: \($0)" } ?? ""))
        }
    }

    /// Opens the store and returns it with the account to use.
    func storeAndAccount(named name: String? = nil) async throws -> (store: AccountStore, account: Account) {
        let store = try await store()
        return (store, try await account(store, named: name))
    }

    func typeName(_ settings: Settings) -> String { invocation[GlobalOptions.type] ?? settings.defaultType }

    /// Returns the account of the command line, the current account of its type, or the active account.
    func account(_ store: AccountStore, named name: String? = nil) async throws -> Account {
        let account = try await chosenAccount(store, named: name)
        try await select(account, store)
        return account
    }

    /// Uses an account for this command: prints it with `--verbose`. In the agent, asks the user if the settings require
    /// it.
    func select(_ account: Account, _ store: AccountStore) async throws {
        world.stores.usedType = account.type
        console.verbose("Account: \(account.label) (\(account.type))")
        if store.settings[account.type]?.agentConfirm == true { try await world.useConfirmation?.check(account) }
    }

    private func chosenAccount(_ store: AccountStore, named name: String?) async throws -> Account {
        if let name = name ?? invocation[GlobalOptions.account] { return try await find(name, store) }
        if let type = invocation[GlobalOptions.type] { return try await account(store, ofType: type) }
        if let account = try await store.activeAccount() { return account }
        try await reportDamage(store)
        throw CommandError(
            .signInNeeded, "not signed in", reason: "there is no account",
            hint: "\(run: "sign-in") \(store.settings.defaultType)")
    }

    /// Returns the current account of a type.
    func account(_ store: AccountStore, ofType type: String) async throws -> Account {
        guard store.settings.typeNames.contains(type) else {
            throw CommandError(unknownType: type, in: store.settings)
        }
        guard let account = try await store.currentAccount(ofType: type) else {
            try await reportDamage(store)
            // A sign-in would fail too.
            _ = try store.settings.type(named: type)
            throw CommandError(
                .signInNeeded, "not signed in", reason: "there is no account of type \(type)",
                hint: "\(run: "sign-in") \(type)")
        }
        return account
    }

    /// Returns the type of the command line, the type of the active account, or the default type.
    func activeType(_ settings: Settings) async throws -> AccountType? {
        if invocation[GlobalOptions.type] == nil, settings.typeNames.count > 1,
            let account = try await account(ifAny: try await store(settings))
        {
            return try settings.type(named: account.type)
        }
        return try settings.type(named: typeName(settings))
    }

    private func account(ifAny store: AccountStore) async throws -> Account? {
        if let name = invocation[GlobalOptions.account] { return try await find(name, store) }
        return try await store.activeAccount()
    }

    /// Returns the account with this identifier, otherwise all with this label, user name or subject, ignoring case.
    static func accounts(named name: String, among accounts: [Account]) -> [Account] {
        if let account = accounts.first(where: { $0.id.rawValue == name }) { return [account] }
        let folded = name.lowercased()
        return accounts.filter {
            [$0.nickname, $0.userName, $0.displayName, $0.subject].contains { $0?.lowercased() == folded }
        }
    }

    private func find(_ name: String, _ store: AccountStore) async throws -> Account {
        let accounts = try await store.accounts(ofType: invocation[GlobalOptions.type])
        let found = Self.accounts(named: name, among: accounts)
        if found.count > 1 {
            throw CommandError(several: found, named: name, hint: "use its identifier, or its type with --type")
        }
        guard let account = found.first else {
            try await reportDamage(store)
            let near = SpellingSuggestion.nearest(to: name, in: accounts.map(\.label))
            throw CommandError(
                .notFound, "no account \(name)", reason: "no account in the store has this name",
                hint: near.map { "did you mean \($0)?" } ?? "\(run: "accounts")")
        }
        return account
    }

    /// Throws if the store or a record is damaged, because its account must not seem to be absent.
    func reportDamage(_ store: AccountStore) async throws {
        try await store.checkIntegrity()
        let damaged = try await store.damagedRecords()
        guard let first = damaged.first else { return }
        throw CommandError(
            .store, "cannot read the record of an account",
            reason:
                "\(damaged.count) of them, the first \(first.id) of type \(first.type): damaged, or encrypted with a different key",
            hint: "the store is unchanged; restore a copy of \(store.storageLocation), "
                + "or \(run: "accounts remove") \(first.id) and \(run: "sign-in") \(first.type)")
    }
}

extension CommandError {
    init(unknownType type: String, in settings: Settings) {
        self.init(
            .settings, "no account type \(type.debugDescription)",
            reason: "\(settings.source) has \(settings.typeNames.joined(separator: ", "))",
            hint: "use --type with one of them")
    }

    init(several accounts: [Account], named name: String, hint: Hint) {
        self.init(
            .usage, "several accounts are named \(name)",
            reason: accounts.map { "\($0.id) of type \($0.type)" }.joined(separator: ", "), hint: hint)
    }
}
