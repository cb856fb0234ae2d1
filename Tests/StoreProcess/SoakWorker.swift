import Foundation
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

/// A random number generator with a seed.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

/// The changes to an account.
enum SoakWork: String, CaseIterable {
    case signIn, refresh, edit, remove
}

/// The process that is killed: it signs users in, refreshes, edits and removes accounts in an endless loop, and writes
/// a line before and after each change. The lines are in a file, so they survive the process.
struct SoakWorker {
    static let people = 6
    let store: AccountStore

    init(location: StorePlace, port: UInt16, watches: Bool = true) async throws {
        var type = AccountType(
            name: "graph", provider: .endpoints, clientID: "client",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
        func url(_ path: String) -> URL? { URL(string: "http://127.0.0.1:\(port)/\(path)") }
        type.endpoints = AccountType.Endpoints(authorization: url("authorize"), token: url("token"))
        type.endpoints.userinfo = url("userinfo")
        store = try await AccountStore(
            settings: try Settings(types: [type]), storage: try location.storage(),
            custody: KeyFile(directory: location.directory), dependencies: Dependencies(transport: CurlTransport()),
            watchesOtherProcesses: watches)
    }

    func run(seed: UInt64) async throws {
        StoreProcess.say("ready")
        var numbers = SeededNumbers(seed: seed)
        while true {
            let person = Int.random(in: 0..<Self.people, using: &numbers)
            let account = try await account(of: person)
            let work =
                account == nil ? .signIn : SoakWork.allCases.randomElement(using: &numbers) ?? .edit
            // Skip half of the removals, so that most users have an account.
            if work == .remove, Bool.random(using: &numbers) { continue }
            let value = Int.random(in: 0..<1_000_000, using: &numbers)
            StoreProcess.say("begin \(work.rawValue) \(person) \(value)")
            switch (work, account?.id) {
            case (.signIn, _), (_, nil): try await signIn(person)
            case (.edit, let id?): try await store.setUserData(value, for: id)
            case (.remove, let id?): try await store.remove(id)
            case (.refresh, let id?): try await refresh(id)
            }
            StoreProcess.say("done \(work.rawValue) \(person) \(value)")
        }
    }

    static func subject(_ person: Int) -> String { "person-\(person)" }

    func account(of person: Int) async throws -> Account? {
        try await store.accounts().first { $0.subject == Self.subject(person) }
    }

    func signIn(_ person: Int) async throws {
        let prepared = try await store.prepareSignIn(to: "graph")
        let text = "\(prepared.redirectURI.text)?code=\(person)&state=\(prepared.id)"
        guard let redirect = URL(string: text) else { return }
        _ = try await store.handleRedirect(redirect)
    }

    /// Requests a token other than the stored one.
    func refresh(_ id: Account.ID) async throws {
        let token = try await store.accessToken(for: id)
        _ = try await store.accessToken(for: id, rejected: token.secret)
    }
}
