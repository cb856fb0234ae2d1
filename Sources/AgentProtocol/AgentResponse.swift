import StrictJSON

/// A message from the agent to a client.
package enum AgentResponse: Sendable, Equatable {
    /// The agent runs the command when the client has sent its streams. It gets the result through ``CommandReport``.
    case accepted
    /// The complete output of the command, which succeeded; its bytes follow.
    case output(byteCount: Int)
    /// The client does the work itself.
    case notMine
    case locked
    case done
    case status(JSONObject)

    private static let outputStart = Array(#"{"output":"#.utf8)

    package init?(_ line: some Collection<UInt8>) {
        // The commonest response, without the cost of a JSON reader in the client.
        if line.starts(with: Self.outputStart), line.reversed().first == UInt8(ascii: "}"),
            let text = String(validating: line.dropFirst(Self.outputStart.count).dropLast(), as: UTF8.self),
            let count = Int(text), (0...AgentLimits.output).contains(count)
        {
            self = .output(byteCount: count)
            return
        }
        guard let object = AgentLine.object(line), let member = object.members.first else { return nil }
        switch (member.name, member.value) {
        case ("accepted", true): self = .accepted
        case ("notMine", true): self = .notMine
        case ("locked", true): self = .locked
        case ("done", true): self = .done
        case ("status", .object(let status)): self = .status(status)
        default: return nil
        }
    }

    package var line: [UInt8] {
        switch self {
        case .accepted: AgentLine.bytes(["accepted": true])
        case .output(let count): Self.outputLine(byteCount: count)
        case .notMine: AgentLine.bytes(["notMine": true])
        case .locked: AgentLine.bytes(["locked": true])
        case .done: AgentLine.bytes(["done": true])
        case .status(let status): AgentLine.bytes(["status": .object(status)])
        }
    }
}

extension AgentResponse {
    /// Returns the line of ``output(byteCount:)``, without the cost of a JSON writer.
    package static func outputLine(byteCount: Int) -> [UInt8] { outputStart + "\(byteCount)}\n".utf8 }
}

/// How long an output remains valid.
package struct RememberedOutput: Sendable, Equatable {
    package var byteCount: Int
    /// The time until which the command prints the same output, in seconds since 1970.
    package var validUntil: Double
    /// The expiry of the token in the output, in seconds since 1970. `nil` if no refresh would replace it.
    package var expiry: Double?
    /// The time at which the provider asks for a refresh, in seconds since 1970.
    package var refreshTime: Double?
    /// The lifetime of the token in seconds.
    package var lifetime: Double
    /// The account and its type, for `agent status`.
    package var account: String
    package var type: String
    /// The files that the output depends on, as they were before the command read them.
    package var files: [FileStamp]

    package init(
        byteCount: Int, validUntil: Double, expiry: Double?, refreshTime: Double? = nil, lifetime: Double,
        account: String, type: String, files: [FileStamp]
    ) {
        (self.byteCount, self.validUntil, self.expiry) = (byteCount, validUntil, expiry)
        (self.refreshTime, self.lifetime) = (refreshTime, lifetime)
        (self.account, self.type, self.files) = (account, type, files)
    }

    init?(_ object: JSONObject) {
        guard let count = object["bytes"]?.number?.int64, (1...Int64(AgentLimits.output)).contains(count),
            let until = object["until"]?.number?.double, let lifetime = object["lifetime"]?.number?.double,
            let account = object["account"]?.string, let type = object["type"]?.string,
            let files = object["files"]?.array
        else { return nil }
        let stamps = files.compactMap { file -> FileStamp? in
            guard let path = file.object?["path"]?.string, let text = file.object?["state"]?.string,
                let kind = file.object?["kind"]?.string.flatMap(FileStamp.Kind.init)
            else { return nil }
            let state = FileStamp.State(text)
            return state == nil && !text.isEmpty ? nil : FileStamp(path: path, kind: kind, state: state)
        }
        guard stamps.count == files.count else { return nil }
        self.init(
            byteCount: Int(count), validUntil: until, expiry: object["expiry"]?.number?.double,
            refreshTime: object["refreshTime"]?.number?.double, lifetime: lifetime, account: account, type: type,
            files: stamps)
    }

    var object: JSONObject {
        func number(_ value: Double) -> JSONValue { JSONNumber(value).map { .number($0) } ?? .null }
        return [
            "bytes": .integer(Int64(byteCount)), "until": number(validUntil), "expiry": expiry.map(number) ?? .null,
            "refreshTime": refreshTime.map(number) ?? .null, "lifetime": number(lifetime),
            "account": .string(account), "type": .string(type),
            "files": .array(
                files.map {
                    [
                        "path": .string($0.path), "kind": .string($0.kind.rawValue),
                        "state": .string($0.state?.text ?? ""),
                    ]
                }),
        ]
    }
}

/// A message from the resident to a worker. The descriptors of the client's standard streams come with `run`.
package enum WorkerRequest: Sendable, Equatable {
    /// The line of the client follows. `validity` is a time in seconds that a token must remain valid, for a refresh
    /// ahead of time. `process` is the ID of the client's process, or 0.
    case run(id: Int64, byteCount: Int, validity: Double?, process: Int64 = 0)
    case signal(id: Int64, number: Int32)

    package init?(_ line: some Sequence<UInt8>) {
        guard let object = AgentLine.object(line), let id = object["id"]?.number?.int64 else { return nil }
        if let number = object["signal"]?.number?.int64, (1...64).contains(number) {
            self = .signal(id: id, number: Int32(number))
        } else if let count = object["run"]?.number?.int64, (1...Int64(AgentLimits.message)).contains(count) {
            self = .run(
                id: id, byteCount: Int(count), validity: object["validity"]?.number?.double,
                process: object["process"]?.number?.int64 ?? 0)
        } else {
            return nil
        }
    }

    package var line: [UInt8] {
        switch self {
        case .run(let id, let count, let validity, let process):
            var object: JSONObject = [
                "id": .integer(id), "run": .integer(Int64(count)), "process": .integer(process),
            ]
            if let validity = validity.flatMap(JSONNumber.init) { object.append("validity", .number(validity)) }
            return AgentLine.bytes(object)
        case .signal(let id, let number):
            return AgentLine.bytes(["id": .integer(id), "signal": .integer(Int64(number))])
        }
    }
}

/// A message from a worker to the resident. The bytes of a remembered output follow.
package enum WorkerResponse: Sendable, Equatable {
    /// The worker cannot run this command: the client does the work itself.
    case declined(id: Int64)
    case exit(id: Int64, status: Int32, output: RememberedOutput?)

    package init?(_ line: some Sequence<UInt8>) {
        guard let object = AgentLine.object(line), let id = object["id"]?.number?.int64 else { return nil }
        if object["declined"] == true {
            self = .declined(id: id)
        } else if let status = object["exit"]?.number?.int64, (0...255).contains(status) {
            var output: RememberedOutput?
            if let remembered = object["output"]?.object {
                // Bytes follow, so the rest of the stream is useless after an invalid line.
                guard let read = RememberedOutput(remembered) else { return nil }
                output = read
            }
            self = .exit(id: id, status: Int32(status), output: output)
        } else {
            return nil
        }
    }

    package var line: [UInt8] {
        switch self {
        case .declined(let id): return AgentLine.bytes(["id": .integer(id), "declined": true])
        case .exit(let id, let status, let output):
            var object: JSONObject = ["id": .integer(id), "exit": .integer(Int64(status))]
            if let output { object.append("output", .object(output.object)) }
            return AgentLine.bytes(object)
        }
    }
}

/// The hidden command of the workers.
package enum AgentWorkerName {
    package static let command = "__agent-worker"
    /// The descriptor of the connection to the resident.
    package static let channel: Int32 = 3
    /// The descriptor from which the worker reads a key if its argument names the store of the key.
    package static let key: Int32 = 4
}

/// The result of a command, which the worker writes to the pipe of the client.
///
/// The client reads it from the worker and not from the resident, so that it knows what happened even if the resident
/// ends. Without a byte, nothing happened yet.
package enum CommandReport {
    /// The command may have written output or changed something: the client must not run it again.
    package static let began: UInt8 = 1
    /// The exit status follows.
    package static let exit: UInt8 = 2
}
