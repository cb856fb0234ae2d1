import Foundation
import OAuth2AccountStore

/// Repeatedly kills a process that uses a store, at any instruction, and checks the store each time: it opens, contains
/// each acknowledged change, contains no partial change, and no account needs a sign-in, unless the provider rotated
/// the refresh token and its response never arrived. The store must report that reason.
final class Soak {
    private let location: StorePlace
    private let provider: SoakProvider
    private var numbers: SeededNumbers
    private let kills: Int

    /// The expected state of each user's account: its data, or `nil` without an account.
    private var expected: [Int: Int?] = [:]
    private var faults: [String] = []
    private var counts: [String: Int] = [:]
    private var lines = 0

    init(location: StorePlace, kills: Int, seed: UInt64) throws {
        self.location = location
        self.kills = kills
        numbers = SeededNumbers(seed: seed)
        provider = try SoakProvider()
    }

    private var output: String { location.directory.path + "-output" }

    /// Returns whether all checks passed.
    func run() async throws -> Bool {
        let begun = ContinuousClock.now
        let startup = try await measureStartup()
        for round in 1...kills {
            // Every tenth process is killed while it creates a store.
            if round % 10 == 0 {
                try await killWhileMaking(startup, round)
            } else {
                try await killWhileWorking(startup)
            }
            if faults.count > 5 { break }
        }
        await lookAtAll()
        try? FileManager.default.removeItem(atPath: output)
        let provider = provider.counts
        let words = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        for fault in faults { StoreProcess.say("fault: \(fault)") }
        StoreProcess.say(
            "soak: \(kills) kills in \((ContinuousClock.now - begun).components.seconds) s; \(words); "
                + "\(lines) changes acknowledged; the provider gave \(provider.issued) refresh tokens, was sent "
                + "\(provider.reused) used ones and took \(provider.forgiven) of them; \(faults.count) faults")
        return faults.isEmpty
    }

    // MARK: Killing

    private func start(_ location: StorePlace) throws -> pid_t {
        guard let program = Bundle.main.executablePath else { throw CocoaError(.executableNotLoadable) }
        let seed = UInt64.random(in: 0..<1 << 40, using: &numbers)
        var words =
            [program, "live", location.word, "\(provider.port)", "\(seed)"].map { (word: String) in strdup(word) } + [
                nil
            ]
        defer { for word in words { free(word) } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        // Threads of Swift's pool have blocked signals, which the child would inherit.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unblocked = sigset_t()
        sigemptyset(&unblocked)
        posix_spawnattr_setsigmask(&attributes, &unblocked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var process = pid_t()
        let code = posix_spawn(&process, program, &actions, &attributes, &words, environ)
        guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
        return process
    }

    /// Kills the process and returns its output.
    private func end(_ process: pid_t) -> [String] {
        kill(process, SIGKILL)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let text = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
        let said = text.split(separator: "\n").map(String.init)
        if status & 0x7F != SIGKILL { faults.append("the process exited: \(said.last ?? "without output")") }
        return said
    }

    /// Returns the startup time of a process in microseconds.
    private func measureStartup() async throws -> Int {
        let process = try start(location)
        let begun = ContinuousClock.now
        while ((try? String(contentsOfFile: output, encoding: .utf8)) ?? "").isEmpty,
            ContinuousClock.now - begun < .seconds(20)
        {
            try await Task.sleep(for: .milliseconds(1))
        }
        let taken = ContinuousClock.now - begun
        await look(after: end(process))
        return Int(taken / .microseconds(1))
    }

    private func pause(_ startup: Int) async throws {
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<2 * startup + 30_000, using: &numbers)))
    }

    private func killWhileWorking(_ startup: Int) async throws {
        let process = try start(location)
        try await pause(startup)
        await look(after: end(process))
    }

    /// Kills a process while it creates a store: the store must be complete or missing, without other files.
    private func killWhileMaking(_ startup: Int, _ round: Int) async throws {
        let location = location.new(round)
        defer { try? FileManager.default.removeItem(atPath: location.directory.path) }
        let process = try start(location)
        try await Task.sleep(for: .microseconds(Int.random(in: 0..<startup + 5000, using: &numbers)))
        _ = end(process)
        count("killed while creating a store")
        do {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: location.directory.path)) ?? []
            let known: Set = ["accounts.sqlite", "accounts.sqlite-journal", "accounts.key", "accounts.lock"]
            if !known.isSuperset(of: names) { faults.append("other files in the folder: \(names)") }
            let worker = try await SoakWorker(location: location, port: provider.port, watches: false)
            if try await worker.store.accounts().isEmpty { try await worker.signIn(0) }
            if !(try await worker.store.damagedRecords().isEmpty) { faults.append("a new store has a damaged record") }
        } catch {
            faults.append("an interrupted new store does not open: \(error)")
        }
    }

    // MARK: Looking

    private func count(_ what: String) { counts[what, default: 0] += 1 }

    /// Checks the acknowledged changes. The change in progress may be in the store or not.
    private func look(after said: [String]) async {
        var begun: (work: SoakWork, person: Int, value: Int)?
        for line in said {
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix("error") {
                faults.append("error of the process: \(line)")
                continue
            }
            guard words.count == 4, let work = SoakWork(rawValue: words[1]), let person = Int(words[2]),
                let value = Int(words[3])
            else { continue }
            begun = words[0] == "begin" ? (work, person, value) : nil
            guard words[0] == "done" else { continue }
            lines += 1
            expected[person] = .some(outcome(work, value, before: expected[person] ?? nil))
        }
        count(begun.map { "killed in \($0.work.rawValue)" } ?? "killed between changes or while starting")
        do {
            let worker = try await SoakWorker(location: location, port: provider.port, watches: false)
            try await check(worker, begun)
        } catch {
            faults.append("after \(said.last ?? "no output"): \(error)")
        }
    }

    private func outcome(_ work: SoakWork, _ value: Int, before: Int?) -> Int? {
        switch work {
        case .signIn, .refresh: before ?? 0
        case .edit: value
        case .remove: nil
        }
    }

    private func check(_ worker: SoakWorker, _ begun: (work: SoakWork, person: Int, value: Int)?) async throws {
        let damaged = try await worker.store.damagedRecords()
        if !damaged.isEmpty { faults.append("\(damaged.count) damaged records after \(String(describing: begun))") }
        let accounts = try await worker.store.accounts()
        for person in 0..<SoakWorker.people {
            let found = accounts.filter { $0.subject == SoakWorker.subject(person) }
            if found.count > 1 { faults.append("person \(person) has \(found.count) accounts") }
            let data = try found.first.map { try $0.userData(as: Int.self) ?? 0 }
            var allowed = [expected[person] ?? nil]
            if let begun, begun.person == person {
                allowed.append(outcome(begun.work, begun.value, before: allowed[0]))
            }
            if !allowed.contains(data) {
                faults.append(
                    "person \(person): found \(String(describing: data)), expected \(allowed) after \(String(describing: begun))"
                )
            }
            expected[person] = .some(data)
            if let reason = found.first?.signInNeeded { faults.append("person \(person) needs a sign-in: \(reason)") }
        }
        if let begun, begun.work == .refresh || begun.work == .signIn { try await use(worker, begun.person) }
    }

    /// Refreshes a user's account. Only if the response was lost may it send a used token; the provider then accepts
    /// it, or the error states the reason.
    private func use(_ worker: SoakWorker, _ person: Int, isLost: Bool = true) async throws {
        guard let account = try await worker.account(of: person) else { return }
        let before = provider.counts
        do {
            try await worker.refresh(account.id)
            let after = provider.counts
            if after.forgiven > before.forgiven { count("lost responses recovered with the old token") }
            if after.reused > before.reused, !isLost {
                faults.append("person \(person): a used token was still stored")
            }
        } catch let error as AccountStoreError {
            guard isLost, error.kind == .signInNeeded(.answerLost), !SoakProvider.forgives(person),
                provider.counts.reused > before.reused
            else { return faults.append("person \(person): \(error) \(error.kind)") }
            count("lost responses reported")
            try await worker.signIn(person)
            guard try await worker.account(of: person)?.id == account.id else {
                return faults.append("person \(person): a new sign-in created another account")
            }
        }
    }

    /// Checks at the end that the provider accepts the tokens of all users.
    private func lookAtAll() async {
        do {
            let worker = try await SoakWorker(location: location, port: provider.port, watches: false)
            for person in 0..<SoakWorker.people { try await use(worker, person, isLost: false) }
        } catch {
            faults.append("at the end: \(error)")
        }
    }
}
