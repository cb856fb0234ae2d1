import AgentProtocol
import CommandLineKit
import JOSE
import LodgeAgent
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

@MainActor struct AgentCommand: CommandHandler {
    nonisolated static let group = Command(
        "agent", "Run a background agent that keeps tokens fresh.",
        discussion: """
            While the agent runs, token, request, search, show, lookup, me, status, accounts list and credential let it do their work. \
            It has the store and the connections open, and refreshes the tokens in use before they expire. Output, exit status and files \
            are the same as without it. --no-agent, or LODGE_AGENT=off, does not use it.
            """,
        examples: [
            CommandExample("lodge agent run", "run it in this terminal"),
            CommandExample("lodge agent status", "show the tokens that it keeps fresh"),
        ], subcommands: [run, status, lock, unlock, forward, stop], needsNoSettings: true)

    private nonisolated static let run = Command(
        "run", "Run the agent until it is stopped.",
        discussion: """
            The socket is $XDG_RUNTIME_DIR/lodge/agent.sock, or LODGE_AGENT_SOCK. A service manager can pass the socket: the files \
            lodge-agent.socket and lodge-agent.service for systemd are installed.
            """, examples: ["lodge agent run"], formats: OutputFormat.ofText
    ) { context in
        guard let program = ProcessIdentity.programPath else {
            throw CommandError(.failed, "cannot start the agent", reason: "the path of lodge is unknown")
        }
        let words: [String]
        let options = try context.agentOptions()
        do throws(ListeningSocket.Failure) {
            words = try context.world.prepareAgent(program, options) { () throws(AgentSocket.Problem) in
                try AgentRules.socket(context.world.variable)
            }
        } catch {
            throw CommandError(error)
        }
        let failure = context.world.replaceProcess(
            [Launch.current?.launcher ?? program] + words, context.world.environment)
        throw CommandError(.failed, "cannot start the agent", reason: String(cString: strerror(failure)))
    }

    private nonisolated static let status = Command(
        "status", "Show the tokens that the agent keeps fresh.", examples: ["lodge agent status"],
        formats: OutputFormat.ofSentences,
        json: .object([
            "version": "", "process": "process ID", "started": "RFC 3339", "socket": "path", "locked": "true or false",
            "key": "whether the agent has the key of the store", "workers": "number of worker processes",
            "sockets": "array of path and until: the sockets of other programs",
            "tokens": "array of account, type, state, refreshed, nextRefresh, requests, lastRequest, failures",
        ])
    ) { try AgentCommand(context: $0).showStatus() }

    private nonisolated static let lock = Command(
        "lock", "Erase the tokens in the agent and refuse commands.",
        discussion: """
            Commands that the agent serves then fail with status 9, until lodge agent unlock. The lock protects the memory of the agent; \
            another program that can read the key can still open the store.
            """, examples: ["lodge agent lock"], formats: OutputFormat.ofText
    ) { try AgentCommand(context: $0).ask("lock", done: "Locked the agent.") }

    private nonisolated static let unlock = Command(
        "unlock", "Serve commands again after a lock.",
        discussion: """
            If the key of the store is sealed with a passphrase, unlock asks for it and gives the key to the agent. Commands that the \
            agent serves then need no passphrase, until a lock.
            """, examples: ["lodge agent unlock"], formats: OutputFormat.ofText
    ) { try await AgentCommand(context: $0).unlock() }

    private nonisolated static let forward = Command(
        "forward", "Let programs on another machine get tokens through ssh.",
        discussion: """
            It creates a socket for the tokens of one account and prints its path. Programs that use oidc-agent get the tokens there. \
            To use them on another machine: ssh -R REMOTE:LOCAL. The administrators of that machine can then get the tokens, too.
            """,
        examples: [
            CommandExample(
                "lodge agent forward --account ada@contoso.com --for 8h", "serve one account for a working day")
        ],
        options: [AgentForward.duration], formats: OutputFormat.ofSentences,
        json: .object(["socket": "path", "until": "RFC 3339", "account": "", "type": "account type"])
    ) { try await AgentForward(context: $0).run() }

    private nonisolated static let stop = Command(
        "stop", "Stop the agent when the running commands are finished.", examples: ["lodge agent stop"],
        formats: OutputFormat.ofText
    ) { try AgentCommand(context: $0).ask("stop", done: "Stopped the agent.") }

    let context: CommandContext

    private nonisolated static let columns = [
        TableColumn("ACCOUNT", .keep), TableColumn("TYPE"), TableColumn("STATE"), TableColumn("REFRESHED"),
        TableColumn("NEXT REFRESH"), TableColumn("REQUESTS"),
    ]

    /// Sends the key of a store that is sealed with a passphrase, and unlocks the agent.
    private func unlock() async throws -> ExitStatus {
        let storage = try context.storage()
        guard try await !storage.isMissing(), try await AccountStore.keyCustody(of: storage) == .passphrase else {
            return try ask("unlock", done: "Unlocked the agent.")
        }
        // Without an agent, do not ask for the passphrase.
        _ = try context.askAgent(AgentRequest.line("status"))
        let found: SealingKey?
        do {
            found = try await context.keyLocations().custody(.passphrase, storage).key()
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot unlock the agent")
        }
        guard let key = found else {
            throw CommandError(.store, "cannot unlock the agent", reason: "the store has no key", hint: "lodge doctor")
        }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CommandError(.failed, "cannot unlock the agent", reason: SystemError().explanation)
        }
        defer { close(ends[0]) }
        var bytes = key.bytes
        defer { for index in bytes.indices { bytes[index] = 0 } }
        let isWritten = write(ends[1], bytes, bytes.count) == bytes.count
        close(ends[1])
        guard isWritten,
            try context.askAgent(AgentRequest.unlockLine(store: context.agentStore), [ends[0]]) == .done
        else {
            throw CommandError(
                .failed, "the agent did not unlock", reason: "its response is unknown", hint: "lodge agent status")
        }
        console.note("Unlocked the agent, which now has the key of the store.")
        return .done
    }

    private func ask(_ word: String, done: String) throws -> ExitStatus {
        guard try context.askAgent(AgentRequest.line(word)) == .done else {
            throw CommandError(
                .failed, "the agent did not \(word)", reason: "its response is unknown", hint: "lodge agent status")
        }
        console.note(done)
        return .done
    }

    private func showStatus() throws -> ExitStatus {
        guard case .status(let status) = try context.askAgent(AgentRequest.line("status")) else {
            throw CommandError(
                .failed, "cannot show the state of the agent", reason: "its response is unknown",
                hint: "lodge agent stop")
        }
        let outputs = (status["outputs"]?.array ?? []).compactMap(\.object)
        let isLocked = status["locked"]?.bool ?? false
        let sockets = (status["listeners"]?.array ?? []).compactMap(\.object).map {
            (path: $0["path"]?.string ?? "", until: $0["until"])
        }
        if format == .json {
            var object = JSONObject()
            for name in ["version", "process"] { object.append(name, status[name] ?? .null) }
            object.append("started", Self.time(status["started"]))
            object.append("socket", .string(try context.agentSocket()))
            object.append("locked", .bool(isLocked))
            object.append("key", status["key"] ?? false)
            object.append("workers", status["workers"] ?? .null)
            object.append(
                "sockets",
                .array(sockets.map { ["path": .string($0.path), "until": Self.time($0.until)] }))
            object.append("tokens", .array(outputs.map { .object(Self.record($0)) }))
            try console.write(.object(object))
            return .done
        }
        if !outputs.isEmpty {
            try list(outputs.map { Row(output: $0) }, Self.columns)
            try console.writeLine()
        }
        var detail = Detail()
        let workers = status["workers"]?.number?.int64 ?? 0
        let busy = status["busy"]?.number?.int64 ?? 0
        detail.add("Agent", "\(status["version"]?.string ?? ""), process \(status["process"]?.number?.literal ?? "")")
        detail.add("Started", Self.relative(status["started"]))
        detail.add("Socket", try context.agentSocket())
        detail.add("Workers", workers == 0 ? "none" : "\(workers), \(busy) of them busy")
        for socket in sockets {
            let until = socket.until == .null ? "" : ", until \(Self.relative(socket.until))"
            detail.add("For programs", socket.path + until)
        }
        detail.add(
            "State", isLocked ? "locked" : status["key"] == true ? "unlocked, with the key of the store" : "unlocked")
        try detail.write(to: console)
        return .done
    }

    private nonisolated static func date(_ value: JSONValue?) -> Date? {
        value?.number?.double.map(Date.init(timeIntervalSince1970:))
    }

    private nonisolated static func time(_ value: JSONValue?) -> JSONValue {
        date(value).map { .string($0.rfc3339) } ?? .null
    }

    fileprivate nonisolated static func relative(_ value: JSONValue?) -> String {
        date(value).map { TimeText.relative($0, to: Date.now) } ?? "on request"
    }

    fileprivate nonisolated static func record(_ output: JSONObject) -> JSONObject {
        [
            "account": output["account"] ?? .null, "type": output["type"] ?? .null, "state": output["state"] ?? .null,
            "refreshed": time(output["refreshed"]), "nextRefresh": time(output["due"]),
            "requests": output["requests"] ?? .null, "lastRequest": time(output["requested"]),
            "failures": output["failures"] ?? .null,
        ]
    }

    private struct Row: OutputRecord {
        let output: JSONObject

        var cells: [String] {
            [
                output["account"]?.string ?? "", output["type"]?.string ?? "", output["state"]?.string ?? "",
                AgentCommand.relative(output["refreshed"]), AgentCommand.relative(output["due"]),
                "\(output["requests"]?.number?.literal ?? ""), last \(AgentCommand.relative(output["requested"]))",
            ]
        }

        var json: JSONValue { .object(AgentCommand.record(output)) }
    }
}

extension CommandContext {
    /// Returns the path of the agent's socket.
    func agentSocket() throws -> String {
        do throws(AgentSocket.Problem) {
            return try AgentRules.socket(world.variable)
        } catch {
            throw CommandError(error, "the agent is not running")
        }
    }

    /// Sends a message to the agent and returns its response.
    func askAgent(_ line: [UInt8], _ descriptors: [Int32] = []) throws -> AgentResponse {
        let path = try agentSocket()
        let response: AgentResponse?
        do throws(AgentSocket.Problem) {
            response = try world.askAgent(line, descriptors, path)
        } catch {
            throw CommandError(error, "the agent is not running")
        }
        guard let response else {
            throw CommandError(
                .failed, "the agent does not respond", reason: "\(path): no response within 2 s",
                hint: "end its process and start it again")
        }
        if response == .locked { throw CommandError(.store, "the agent is locked", hint: "lodge agent unlock") }
        return response
    }

    /// Returns what the settings choose for the agent.
    func agentOptions() throws -> AgentOptions {
        var options = AgentOptions()
        guard let settings = try settingsOfFile()?.agent else { return options }
        options.lockAfter = settings.lockAfter.map { $0 / .seconds(1) }
        options.locksOnSleep = settings.locksOnSleep
        options.files = try settings.tokenFiles.map { try path(of: $0) }
        if !options.files.isEmpty { options.filesCommand = ["credential", "files"] + placeOptions }
        if settings.hasOIDCAgentSocket {
            options.listeners = [
                AgentOptions.Listener(
                    descriptor: -1, path: AgentRules.oidcAgentSocket(nextTo: try agentSocket()),
                    arguments: ["credential", "oidc-agent"] + placeOptions)
            ]
        }
        return options
    }

    /// The options of this command line that select the store and the settings.
    var placeOptions: [String] {
        [GlobalOptions.settings, GlobalOptions.store].flatMap { option in
            invocation.source(of: option) == .option
                ? invocation[option].map { ["--\(option.spec.name)", $0] } ?? [] : []
        }
    }
}
