import AgentProtocol
import CommandLineKit
import LodgeAgent
import LodgePlatform
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
        ], subcommands: [run, status, lock, unlock, stop], needsNoSettings: true)

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
        do throws(ListeningSocket.Failure) {
            words = try context.world.prepareAgent(program) { () throws(AgentSocket.Problem) in
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
            "workers": "number of worker processes",
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
        "unlock", "Serve commands again after a lock.", examples: ["lodge agent unlock"], formats: OutputFormat.ofText
    ) { try AgentCommand(context: $0).ask("unlock", done: "Unlocked the agent.") }

    private nonisolated static let stop = Command(
        "stop", "Stop the agent when the running commands are finished.", examples: ["lodge agent stop"],
        formats: OutputFormat.ofText
    ) { try AgentCommand(context: $0).ask("stop", done: "Stopped the agent.") }

    let context: CommandContext

    private nonisolated static let columns = [
        TableColumn("ACCOUNT", .keep), TableColumn("TYPE"), TableColumn("STATE"), TableColumn("REFRESHED"),
        TableColumn("NEXT REFRESH"), TableColumn("REQUESTS"),
    ]

    private func path() throws -> String {
        do throws(AgentSocket.Problem) {
            return try AgentRules.socket(context.world.variable)
        } catch {
            throw CommandError(error, "the agent is not running")
        }
    }

    private func response(_ word: String) throws -> AgentResponse {
        let path = try path()
        let response: AgentResponse?
        do throws(AgentSocket.Problem) {
            response = try context.world.askAgent(word, path)
        } catch {
            throw CommandError(error, "the agent is not running")
        }
        guard let response else {
            throw CommandError(
                .failed, "the agent does not respond", reason: "\(path): no response within 2 s",
                hint: "end its process and start it again")
        }
        return response
    }

    private func ask(_ word: String, done: String) throws -> ExitStatus {
        guard try response(word) == .done else {
            throw CommandError(
                .failed, "the agent did not \(word)", reason: "its response is unknown", hint: "lodge agent status")
        }
        console.note(done)
        return .done
    }

    private func showStatus() throws -> ExitStatus {
        guard case .status(let status) = try response("status") else {
            throw CommandError(
                .failed, "cannot show the state of the agent", reason: "its response is unknown",
                hint: "lodge agent stop")
        }
        let outputs = (status["outputs"]?.array ?? []).compactMap(\.object)
        let isLocked = status["locked"]?.bool ?? false
        if format == .json {
            var object = JSONObject()
            for name in ["version", "process"] { object.append(name, status[name] ?? .null) }
            object.append("started", Self.time(status["started"]))
            object.append("socket", .string(try path()))
            object.append("locked", .bool(isLocked))
            object.append("workers", status["workers"] ?? .null)
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
        detail.add("Socket", try path())
        detail.add("Workers", workers == 0 ? "none" : "\(workers), \(busy) of them busy")
        detail.add("State", isLocked ? "locked" : "unlocked")
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
