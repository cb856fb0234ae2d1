import AgentProtocol
import StrictJSON

/// The outputs that the agent remembers, and the times at which it runs their commands again.
struct RememberedOutputs {
    struct Entry {
        /// The memory with the bytes, or `nil` if the output was not valid any more when it arrived.
        var slot: Int?
        var value: RememberedOutput
        var line: [UInt8]
        /// The environment of the worker for this command.
        var environment: [String]
        var clockOffset: Double
        var requested: Double
        var requests = 1
        var refreshed: Double
        /// The uptime at which the agent runs the command again; `nil` if it does not.
        var due: Double?
        var failures = 0
        /// Whether the command already ran again because a file had changed while it ran.
        var hasSettled = false
        /// Whether the agent runs the command as long as it serves, even if no client asks for it.
        var isStanding = false

        /// Whether the next run refreshes the token. A run after a change of the files only reads the saved token.
        var isAhead: Bool { !(hasSettled && slot == nil) }
    }

    private let rule: OutputKeyRule
    private let readFile: AgentState.FileReader
    private let random: AgentState.Randomness
    private var entries: [[String]: Entry] = [:]
    /// The keys of the outputs for lines of clients, because parsing a line takes longer than all other steps.
    private var knownLines: [[UInt8]: [String]] = [:]

    init(_ rule: OutputKeyRule, readFile: @escaping AgentState.FileReader, random: @escaping AgentState.Randomness) {
        (self.rule, self.readFile, self.random) = (rule, readFile, random)
    }

    subscript(key: [String]) -> Entry? { entries[key] }

    func key(of request: CommandLineRequest) -> [String] { request.outputKey(rule) }

    /// Returns the key of an earlier request with this line.
    func key(ofLine line: [UInt8]) -> [String]? { knownLines[line] }

    mutating func note(_ line: [UInt8], of key: [String]) {
        if knownLines.count >= AgentLimits.outputs { knownLines = [:] }
        knownLines[line] = key
    }

    /// Notes that a client sent this request for an output, if the agent remembers it.
    mutating func note(_ request: CommandLineRequest, _ line: [UInt8], of key: [String]) {
        // The latest environment, in case another variable changed.
        entries[key]?.line = line
        entries[key]?.environment = request.libraryEnvironment
    }

    /// Notes that a client asked for an output. Returns the output if it is still valid.
    mutating func request(_ key: [String], _ now: AgentTime) -> (slot: Int, byteCount: Int)? {
        guard let entry = entries[key] else { return nil }
        entries[key]?.requests += 1
        entries[key]?.requested = now.uptime
        guard !entry.isStanding, let slot = entry.slot, isValid(entry, now) else { return nil }
        return (slot, entry.value.byteCount)
    }

    private func isValid(_ entry: Entry, _ now: AgentTime) -> Bool {
        now.wall < entry.value.validUntil && abs(now.offset - entry.clockOffset) < 1
            && entry.value.files.allSatisfy { readFile($0) == $0 }
    }

    // MARK: Changes

    /// Adds a command that the agent runs now and before each expiry.
    mutating func add(standing request: CommandLineRequest, _ now: AgentTime) {
        let nothing = RememberedOutput(
            byteCount: 0, validUntil: 0, expiry: nil, refreshTime: nil, lifetime: 0, account: "", type: "", files: [])
        entries[key(of: request)] = Entry(
            slot: nil, value: nothing, line: request.line, environment: request.libraryEnvironment,
            clockOffset: now.offset, requested: now.uptime, requests: 0, refreshed: now.uptime, due: now.uptime,
            isStanding: true)
    }

    /// Remembers the output of a command, which a worker has just sent.
    ///
    /// - Parameter isAhead: Whether the command ran to refresh the token.
    mutating func remember(
        _ value: RememberedOutput, of key: [String], _ line: [UInt8], environment: [String], isAhead: Bool,
        worker: Int, _ now: AgentTime
    ) -> [AgentEffect] {
        var effects: [AgentEffect] = []
        let previous = entries[key]
        if previous == nil, entries.count >= AgentLimits.outputs,
            let oldest = entries.filter({ !$0.value.isStanding }).min(by: { $0.value.requested < $1.value.requested })
        {
            effects += forget(oldest.key)
        }
        var entry = Entry(
            slot: previous?.slot, value: value, line: line, environment: environment, clockOffset: now.offset,
            requested: previous?.requested ?? now.uptime, refreshed: now.uptime)
        entry.requests = previous?.requests ?? 1
        entry.isStanding = previous?.isStanding ?? false
        let isSame = previous?.value.expiry == value.expiry
        if isSame, let previous { (entry.refreshed, entry.failures) = (previous.refreshed, previous.failures) }
        if value.files.allSatisfy({ readFile($0) == $0 }), now.wall < value.validUntil {
            let slot = previous?.slot ?? freeSlot
            entry.slot = slot
            effects.append(.keep(worker: worker, slot: slot))
        } else {
            if let slot = previous?.slot { effects.append(.erase(slot: slot)) }
            entry.slot = nil
        }
        if entry.slot == nil, previous?.hasSettled != true, now.wall < value.validUntil {
            // The command itself saved a new token. Another run reads it.
            entry.hasSettled = true
            entry.due = now.uptime
        } else if isAhead, isSame, previous?.value.lifetime != 0 {
            // The provider did not issue another token.
            entry.failures += 1
            entry.due = now.uptime + delay(afterFailures: entry.failures)
        } else {
            entry.due = isSame && previous?.slot != nil ? previous?.due : due(value, now)
        }
        entries[key] = entry
        return effects
    }

    private var freeSlot: Int {
        let used = Set(entries.values.compactMap(\.slot))
        return (0...).first { !used.contains($0) } ?? 0
    }

    mutating func forget(_ key: [String]) -> [AgentEffect] {
        entries.removeValue(forKey: key)?.slot.map { [.erase(slot: $0)] } ?? []
    }

    mutating func eraseAll() -> [AgentEffect] {
        knownLines = [:]
        return entries.keys.flatMap { forget($0) }
    }

    // MARK: Time

    /// The uptime at which the agent runs the next command.
    var nextDue: Double? { entries.values.compactMap(\.due).min() }

    /// Returns the commands to run now, the most urgent first, and forgets outputs without a request in the last day.
    mutating func takeDue(_ now: AgentTime, _ effects: inout [AgentEffect]) -> [(key: [String], entry: Entry)] {
        var due: [(key: [String], entry: Entry)] = []
        for (key, entry) in entries where entry.due.map({ $0 <= now.uptime }) ?? false {
            if entry.isStanding || entry.requested + AgentLimits.interest > now.uptime {
                due.append((key, entry))
            } else {
                effects += forget(key)
            }
        }
        return due.sorted { ($0.entry.due ?? 0) < ($1.entry.due ?? 0) }
    }

    /// Notes that the command of an output runs.
    mutating func start(_ key: [String]) { entries[key]?.due = nil }

    /// Spreads the commands that were due during a suspend. Requests of clients do not wait for them.
    mutating func spreadDue(_ now: AgentTime) {
        for (key, entry) in entries where entry.due.map({ $0 <= now.uptime }) ?? false {
            let delay = random() * AgentLimits.spreadAfterSuspend
            entries[key]?.due = now.uptime + delay
        }
    }

    /// Runs a command that failed again later.
    mutating func retry(_ key: [String], _ now: AgentTime) {
        guard let failures = entries[key].map({ $0.failures + 1 }) else { return }
        let due = now.uptime + delay(afterFailures: failures)
        entries[key]?.failures = failures
        entries[key]?.due = due
    }

    /// Returns the time of the next refresh: before callers would wait for it, and at different times for different
    /// accounts.
    private func due(_ value: RememberedOutput, _ now: AgentTime) -> Double? {
        guard value.expiry != nil else { return nil }
        let spread = random() * value.lifetime / 20
        let wall = min(value.validUntil - value.lifetime / 10, value.refreshTime ?? .infinity) - spread
        return max(wall, now.wall + 1) - now.offset
    }

    private func delay(afterFailures count: Int) -> Double {
        let delay = min(AgentLimits.lastRetry, AgentLimits.firstRetry * Double(1 << min(count - 1, 10)))
        return delay * (1 + random() / 4)
    }

    // MARK: Status

    func status(_ now: AgentTime) -> JSONValue {
        func time(_ value: Double) -> JSONValue { .integer(Int64((value + now.offset).rounded())) }
        let shown = entries.values.filter { !$0.value.type.isEmpty }
            .sorted { ($0.value.account, $0.value.type) < ($1.value.account, $1.value.type) }
        return .array(
            shown.map { entry in
                [
                    "account": .string(entry.value.account), "type": .string(entry.value.type),
                    "state": .string(isValid(entry, now) ? "fresh" : "changed"),
                    "refreshed": time(entry.refreshed), "due": entry.due.map(time) ?? .null,
                    "requests": .integer(Int64(entry.requests)), "requested": time(entry.requested),
                    "failures": .integer(Int64(entry.failures)),
                ]
            })
    }
}
