import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A provider without a network: it returns the user of a token, and refreshes tokens after a millisecond each.
final class StoreProvider: HTTPTransport {
    private let hours = Atomic<Int>(0)
    private let issued = Atomic<Int>(0)
    private let running = Atomic<Int>(0)
    let mostRunning = Atomic<Int>(0)

    var now: Date { Date(timeIntervalSince1970: 1_800_000_000 + 3600 * Double(hours.load(ordering: .relaxed))) }
    func letTokensExpire() { hours.add(2, ordering: .relaxed) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        if request.url.path.hasSuffix("/userinfo") {
            let words = (request.fields["Authorization"] ?? "").split(separator: " ")
            return Self.json(#"{"sub":"\#(words.last ?? "")","name":"Ada","email":"ada@example.com"}"#)
        }
        mostRunning.max(running.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
        defer { running.subtract(1, ordering: .relaxed) }
        try await Task.sleep(for: .milliseconds(1))
        let number = issued.add(1, ordering: .relaxed).newValue
        return HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"],
            body: TokenAnswer.body(accessToken: TokenAnswer.standardToken + "\(number)"))
    }

    private static func json(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 200, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}

/// A store with many accounts on disk, and a bare database with rows of the same size.
struct StoreScene {
    static let accounts = 100_000
    let folder: String
    let provider = StoreProvider()

    var directory: StoreLocation { StoreLocation(folder + "/store") }
    var bare: String { folder + "/bare.sqlite" }
    /// The identifiers of the accounts.
    private(set) var ids: [Account.ID] = []
    private(set) var recordSize = 0

    init(folder: String) { self.folder = folder }

    func open(storage: (any AccountStorage)? = nil) async throws -> AccountStore {
        var dependencies = Dependencies(transport: provider, environment: [:])
        let provider = provider
        dependencies.now = { provider.now }
        let text = """
            {"defaultType": "graph", "types": {"graph": {
                "authorizationEndpoint": "https://op.example.com/authorize",
                "tokenEndpoint": "https://op.example.com/token", "userinfoEndpoint": "https://op.example.com/userinfo",
                "clientId": "benchmark", "redirectUri": "http://127.0.0.1/callback", "scopes": ["User.Read"]}}}
            """
        return try await AccountStore(
            settings: try Settings(bytes: Array(text.utf8), source: "benchmark"),
            storage: storage ?? SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            dependencies: dependencies, watchesOtherProcesses: false)
    }

    /// Adds the accounts in memory and then writes all records in one transaction, because separate durable writes are
    /// slow.
    mutating func fill() async throws {
        try directory.prepare()
        let memory = MemoryStorage()
        let store = try await open(storage: memory)
        for number in 0..<Self.accounts {
            let response = HTTPResponse(
                status: 200, fields: ["Content-Type": "application/json"],
                body: TokenAnswer.body(accessToken: "person-\(number)"))
            ids.append(try await store.add(try TokenResponse.read(response), toType: "graph").id)
        }
        // Creates the file and its tables.
        _ = try await SQLiteStorage(directory: directory).lastSequence()
        let file = try BareSQLite(path: directory.file("accounts.sqlite"))
        let peer = try BareSQLite(path: bare)
        try peer.execute("CREATE TABLE records (id TEXT PRIMARY KEY, record BLOB NOT NULL)")
        for database in [file, peer] { try database.execute("BEGIN IMMEDIATE") }
        for name in ["key-check", "current:graph"] {
            if let value = await memory.value(name) {
                try file.run("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", .text(name), .blob(value))
            }
        }
        var last: Int64 = 0
        while true {
            let page = await memory.records(ofType: nil, after: last, limit: 1000)
            guard let end = page.last else { break }
            last = end.position
            recordSize = end.sealed.count
            for record in page {
                try file.run(
                    "INSERT INTO accounts (id, type, position, revision, record, identity) VALUES (?, ?, ?, ?, ?, ?)",
                    .text(record.id), .text(record.type), .integer(record.position), .integer(record.revision),
                    .blob(record.sealed), record.identity.map { .blob($0) } ?? .null)
                try peer.run("INSERT INTO records VALUES (?, ?)", .text(record.id), .blob(record.sealed))
            }
        }
        for database in [file, peer] { try database.execute("COMMIT") }
    }
}
