import Foundation
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

/// A separate process for the store's tests: it uses a store as an app does, writes its progress to its output, and can
/// be killed at any time.
@main
struct StoreProcess {
    let location: StorePlace
    let port: UInt16
    /// A settings file, or the program that prints the client's assertions.
    let source: String?
    var directory: StoreLocation { location.directory }

    static func main() async {
        // Exceeding the file size limit must be an error, like a full disk, and not end the process.
        signal(SIGXFSZ, SIG_IGN)
        let words = CommandLine.arguments.dropFirst()
        if words.count >= 3, words[1] == "transfer" { await Transfer(Array(words.dropFirst())).run() }
        if words.count >= 3, words[1] == "soak" { await soak(Array(words)) }
        guard words.count >= 3, let port = UInt16(words[3]) else {
            say(
                "usage: store-process tokens|look|change|churn|edit|live DIRECTORY PORT [NUMBER [PROGRAM|SETTINGS.json]]"
            )
            say("       store-process soak DIRECTORY KILLS [SEED]")
            say(
                "       store-process transfer METHOD URL [file=PATH] [to=PATH] [ca=PATH] [pin=PIN] [hold=COUNT] [whole=]"
            )
            exit(64)
        }
        let process = StoreProcess(
            location: StorePlace(words[2]), port: port, source: words.count > 4 ? words[5] : nil)
        let number = words.count > 3 ? Int(words[4]) ?? 1 : 1
        do {
            switch words[1] {
            case "tokens": try await process.tokens(number)
            case "look": try await process.look()
            case "change": try await process.change(fileLimit: number)
            case "churn": try await process.churn(seed: number)
            case "edit": try await process.edit(number)
            case "live": try await SoakWorker(location: process.location, port: port).run(seed: UInt64(number))
            default: say("unknown word")
            }
        } catch let error as AccountStoreError {
            say("error \(error.kind): \(error.description) | \(error.hint ?? "")")
        } catch {
            say("error \(error)")
        }
    }

    /// Kills processes of this program and reports the results; see ``Soak``.
    private static func soak(_ words: [String]) async -> Never {
        guard let kills = Int(words[2]), kills > 0 else {
            say("usage: store-process soak DIRECTORY KILLS [SEED]")
            exit(64)
        }
        do {
            let seed = words.count > 3 ? UInt64(words[3]) ?? 1 : 1
            let holds = try await Soak(location: StorePlace(words[1]), kills: kills, seed: seed).run()
            exit(holds ? 0 : 1)
        } catch {
            say("error \(error)")
            exit(1)
        }
    }

    /// Writes a line to the output immediately.
    static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// The environment of this process, with the metadata services of the test in place of the machine's.
    private var environment: [String: String] {
        let address = "127.0.0.1:\(port)"
        let services = ["AZURE_POD_IDENTITY_AUTHORITY_HOST": address, "GCE_METADATA_HOST": address]
        return ProcessInfo.processInfo.environment.merging(services) { $1 }
    }

    private func store() async throws -> AccountStore {
        var type = AccountType(
            name: "graph", provider: .endpoints, clientID: "client",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
        type.endpoints.token = URL(string: "http://127.0.0.1:\(port)/token")
        var settings: Settings?
        if let source, source.hasSuffix(".json") {
            settings = try Settings(bytes: Array(Data(contentsOf: URL(filePath: source))), source: source)
        } else if let source {
            type.expectedIssuer = "http://127.0.0.1:\(port)"
            type.clientAssertion = .federated(.command([source]))
        }
        return try await AccountStore(
            settings: try settings ?? Settings(types: [type]), storage: try location.storage(),
            custody: KeyFile(directory: directory),
            dependencies: Dependencies(transport: CurlTransport(), environment: environment))
    }

    /// Opens the store, waits for a line, then requests the first account's token in `count` concurrent tasks.
    private func tokens(_ count: Int) async throws {
        let store = try await store()
        guard let account = try await store.accounts().first else { return Self.say("no account") }
        Self.say("ready")
        _ = readLine()
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count { group.addTask { try await store.accessToken(for: account.id).secret.value } }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        for (token, count) in found { Self.say("token \(token) \(count)") }
    }

    /// Lists the accounts, then requests a token of each.
    private func look() async throws {
        let store = try await store()
        for account in try await store.accounts() {
            Self.say("account \(account.id)")
            _ = try await store.accessToken(for: account.id)
            Self.say("token")
        }
        Self.say("done")
    }

    /// Opens the store, limits the file size, and saves data of an account.
    private func change(fileLimit: Int) async throws {
        let store = try await store()
        guard let account = try await store.accounts().first else { return Self.say("no account") }
        #if canImport(Glibc)
            var limit = rlimit(rlim_cur: rlim_t(fileLimit), rlim_max: rlim_t(fileLimit))
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        #endif
        try await store.setUserData(String(repeating: "x", count: 300_000), for: account.id)
        Self.say("saved")
    }

    /// Sets the first account's data to each number up to `count`, then removes the account.
    private func edit(_ count: Int) async throws {
        let store = try await store()
        guard let account = try await store.accounts().first else { return Self.say("no account") }
        for number in 1...max(count, 1) { try await store.setUserData(number, for: account.id) }
        try await store.remove(account.id)
        Self.say("done")
    }

    /// Changes the store in an endless loop, and writes a line before and after each change, until the process is
    /// killed.
    private func churn(seed: Int) async throws {
        let store = try await store()
        var number = 0
        var added: [Account.ID] = []
        while true {
            number += 1
            switch (number + seed) % 4 {
            case 0:
                let answer = HTTPResponse(
                    status: 200, fields: ["Content-Type": "application/json"],
                    body: Data(#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#.utf8))
                // Without a subject the type has one account, so this signs in to the same account again.
                let account = try await store.add(try TokenResponse.read(answer), toType: "graph")
                if !added.contains(account.id) { added.append(account.id) }
                Self.say("added \(account.id)")
            case 1, 2:
                guard let account = try await store.accounts().first else { continue }
                Self.say("writing \(number)")
                try await store.setUserData(number, for: account.id)
                Self.say("written \(number)")
            default:
                guard let account = try await store.accounts().first else { continue }
                _ = try await store.accessToken(for: account.id, minimumValidity: .seconds(3000))
                Self.say("refreshed")
            }
        }
    }
}
