import AgentProtocol
import Foundation
import CurlHTTP
import HTTPExchange
import JOSE
import LocalProvider
import LodgeAgent
import LodgePlatform
import Synchronization
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser
@testable import lodge

/// The bytes that a client sends, in the chunks in which they arrive.
@MainActor final class Chunks {
    private var rest: ArraySlice<[UInt8]>

    init(_ chunks: [[UInt8]]) { rest = chunks[...] }

    /// Returns the next chunk, or no bytes after the last.
    func next() -> [UInt8] { rest.popFirst() ?? [] }
}

/// The messages that commands sent to the agent.
@MainActor private final class AgentLog {
    var messages: [(line: [UInt8], descriptors: Int)] = []
}

/// Runs the command in this process with a local provider, and captures output, errors and status.
@MainActor
final class Terminal {
    let provider: LoopbackProvider
    let folder: URL
    private var environment: [String: String]
    private let approval = Mutex<StoredUser>(.approves)
    /// Whether a browser can be opened.
    var hasBrowser = true
    /// Whether standard input and standard error are a terminal.
    var isTerminal = false
    /// Acts while the program waits. The argument is the output on standard error so far.
    var meanwhile: (@Sendable (@MainActor @Sendable () -> String) async throws -> Void)?
    /// Replaces the process in `exec`.
    var replacement: @MainActor ([String], [String: String]) -> Int32 = { _, _ in
        Issue.record("exec must not start a program")
        return 0
    }
    /// Acts as the child of `exec --azure`, and returns its exit status.
    var child: @MainActor @Sendable ([String], [String: String]) async -> Result<Int32, SystemError> = { _, _ in
        Issue.record("exec must not start a program")
        return .success(0)
    }
    typealias AgentResponder = @MainActor (String, String) throws(AgentSocket.Problem) -> AgentResponse?
    /// Responds as the agent.
    var askAgent: AgentResponder = { (_, path) throws(AgentSocket.Problem) in throw .missing(path) }
    /// The messages to the agent, with the numbers of descriptors.
    var agentMessages: [(line: [UInt8], descriptors: Int)] { agentLog.messages }
    private let agentLog = AgentLog()
    /// Called when a command would start the agent.
    var startAgent: (@MainActor () -> Void)?
    var useConfirmation: UseConfirmation?
    /// What the agent did for the command line.
    var delegation = Delegation.none
    var outputValidity: OutputValidity?
    /// Creates the QR codes. With `nil`, the library creates them if it is installed.
    var qrCode: (@Sendable (String) throws -> QRCode)?
    /// Creates the terminal of `browse`.
    var browseTerminal: (@MainActor (EventQueue) async throws -> any BrowseTerminal)?
    /// Returns the next bytes of a client, no bytes at its end, or `nil` if it sends none before this time.
    ///
    /// The first argument is the output so far. With `nil`, the input is one chunk.
    var readAvailable: (@MainActor (_ output: [UInt8], _ until: ContinuousClock.Instant) throws -> [UInt8]?)?
    /// Whether the client reads responses.
    var clientReads = true
    /// Loads libsodium. With `nil`, it is loaded if it is installed.
    var loadSodium: (@MainActor () throws -> LibSodium)?
    /// Returns the text that the user pastes. The argument is the output on standard error so far.
    var pastes: (@Sendable (String) async throws -> String?)?

    /// The reaction of the user to the page of the provider.
    enum StoredUser {
        case approves
        case approvesAs(String)
        case denies
        case walksAway
    }

    struct Transcript {
        var status: Int32
        var output: String
        var errors: String
        var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// One key for all tests, because creating a key takes a tenth of a second.
    private static let signingKey = Result { try JWK.generate(for: .rs256, keyID: "local-1") }

    init(_ configuration: LoopbackProvider.Configuration = .init()) async throws {
        var configuration = configuration
        if configuration.signingKey == nil { configuration.signingKey = try Self.signingKey.get() }
        provider = try await LoopbackProvider(configuration: configuration)
        folder = FileManager.default.temporaryDirectory.appending(path: "lodge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        environment = ["HOME": folder.path, "LODGE_STORE": folder.appending(path: "store").path]
        try write(settings: nested)
    }

    deinit {
        provider.close()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Settings with the local provider.
    var nested: String {
        """
        {"types": {"local": {"issuer": "\(provider.issuer)", "clientId": "\(provider.clientID)",
        "redirectUri": "http://127.0.0.1/callback", "graphAPI": "\(provider.graphBase)",
        "pushedAuthorizationRequests": false,
        "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]}}}
        """
    }

    var store: URL { folder.appending(path: "store") }
    var settings: URL { folder.appending(path: "settings.json") }

    func write(settings text: String) throws {
        try text.write(to: settings, atomically: true, encoding: .utf8)
        environment["LODGE_SETTINGS"] = settings.path
    }

    func set(_ name: String, _ value: String?) { environment[name] = value }

    func person(_ person: StoredUser) { approval.withLock { $0 = person } }

    /// Runs one command line.
    func run(_ words: String..., input: String = "") async -> Transcript { await run(words: words, input: input) }

    func run(words: [String], input: String = "") async -> Transcript {
        let output = CapturedOutput()
        let errors = CapturedOutput()
        let console = Console(
            program: "lodge", output: output, errorOutput: errors,
            terminal: TerminalState(inputIsTerminal: isTerminal, errorIsTerminal: isTerminal), environment: environment)
        var world = CommandEnvironment(console: console, environment: environment)
        world.readInput = { _ in Array(input.utf8) }
        world.inputLines = { LineReader(text: input) }
        let chunks = Chunks([Array(input.utf8)])
        world.readAvailable = { [readAvailable] time in
            if let readAvailable { return try readAvailable(output.bytes, time) }
            return chunks.next()
        }
        world.acceptsOutput = { [clientReads] _ in clientReads }
        if let loadSodium { world.loadSodium = loadSodium }
        world.copyInput = { try Data(input.utf8).write(to: URL(filePath: $0)) }
        world.replaceProcess = replacement
        let child = child
        world.runProgram = { words, environment, _ in await child(words, environment) }
        // Do not capture this terminal: a task of the command can end after the test, and its folder would remain.
        world.askAgent = { [askAgent, agentLog] (line, descriptors, path) throws(AgentSocket.Problem) in
            agentLog.messages.append((line, descriptors.count))
            return try askAgent(AgentLine.object(line)?["ask"]?.string ?? "", path)
        }
        // The socket would replace a descriptor of the test process.
        world.prepareAgent = { program, options, _ in ["__agent", program, options.text] }
        world.delegation = delegation
        world.outputValidity = outputValidity
        world.startAgent = startAgent
        world.useConfirmation = useConfirmation
        if let qrCode { world.qrCode = qrCode }
        let person = approval.withLock { $0 }
        world.readHiddenLine = { _ in input.isEmpty ? nil : input.split(separator: "\n").first.map(String.init) ?? "" }
        if let pastes { world.readLine = { _ in try await pastes(errors.text) } }
        let open: @Sendable (URL) async throws -> Void = { url in
            let transport = CurlTransport(userAgent: "a user's browser")
            switch person {
            case .approves: _ = try await Approval().approve(url, transport: transport)
            case .approvesAs(let name): _ = try await Approval(as: name).approve(url, transport: transport)
            case .denies: _ = try await Approval().deny(url, transport: transport)
            case .walksAway: break
            }
        }
        if hasBrowser { world.openBrowser = open }
        world.browseTerminal = browseTerminal
        // Never use the terminal of the test run.
        world.takeControllingTerminal = { () throws(TerminalError) in throw .none(ENXIO) }
        let meanwhile = meanwhile
        // Retry delays end immediately. The longer time limit of a sign-in remains.
        world.sleep = {
            try await meanwhile?({ errors.text })
            if $0 < .seconds(1) || $0 > .seconds(200) { try await Task.sleep(for: $0) }
        }
        let status = await Lodge.run(words, world)
        return Transcript(status: world.program.exitStatus ?? status.rawValue, output: output.text, errors: errors.text)
    }
}
