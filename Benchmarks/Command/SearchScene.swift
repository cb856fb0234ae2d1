import HTTPExchange
import LoopbackHTTP
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A signed-in account in a separate store, and a directory on loopback with a constant response.
@MainActor
final class SearchScene {
    private let folder: TemporaryFolder
    private let listener: LoopbackListener
    private let targets: RequestTargets
    let environment: [String: String]
    /// The socket of an agent, if a benchmark starts one.
    var agentSocket: String { folder.path + "/lodge/agent.sock" }

    private static let people = Data(
        """
        {"@odata.context":"https://graph.microsoft.com/v1.0/$metadata#users","value":[
        {"id":"87d349ed-44d7-43e1-9a83-5f2406dee5bd","displayName":"Ada Lovelace","givenName":"Ada","surname":"Lovelace",\
        "mail":"ada@contoso.example","userPrincipalName":"ada@contoso.example","jobTitle":"Engineer",\
        "businessPhones":["+1 425 555 0100"],"mobilePhone":null,"officeLocation":"18/2111"},
        {"id":"4782e723-f4f4-4af3-a76e-25e3bab0d896","displayName":"Ada Yonath","givenName":"Ada","surname":"Yonath",\
        "mail":"yonath@contoso.example","userPrincipalName":"yonath@contoso.example","jobTitle":"Chemist",\
        "businessPhones":[],"mobilePhone":null,"officeLocation":null}]}
        """.utf8)

    init(environment: [String: String]) async throws {
        folder = try TemporaryFolder()
        let targets = RequestTargets()
        let people = Self.people
        self.targets = targets
        listener = try LoopbackListener { request in
            targets.note(request.target)
            guard request.fields["Authorization"] == "Bearer " + TokenAnswer.standardToken else {
                return LoopbackResponse(status: 401)
            }
            return LoopbackResponse(
                status: 200, fields: ["Content-Type": "application/json"], body: people)
        }
        var environment = environment
        // The user's environment must not select the user's real store.
        environment["LODGE_STORE"] = nil
        environment["HOME"] = folder.path
        // The user's agent does not know this store.
        environment["XDG_RUNTIME_DIR"] = folder.path
        environment["LODGE_AGENT_SOCK"] = nil
        self.environment = environment
        try folder.write(Self.settings(port: listener.port), to: "settings.json")
        let directory = StoreLocation(folder.path + "/store")
        let store = try await AccountStore(
            settings: try Settings(contentsOf: URL(filePath: folder.path + "/settings.json")),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            watchesOtherProcesses: false)
        _ = try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: TokenAnswer.standardToken)), toType: "graph")
    }

    func close() {
        listener.close()
        folder.remove()
    }

    static func settings(port: UInt16) -> String {
        """
        {"defaultType": "graph", "types": {"graph": {
            "authorizationEndpoint": "http://127.0.0.1:\(port)/authorize",
            "tokenEndpoint": "http://127.0.0.1:\(port)/token", "clientId": "benchmark",
            "redirectUri": "http://127.0.0.1/callback", "scopes": ["User.ReadBasic.All"],
            "graphAPI": "http://127.0.0.1:\(port)/", "api-version": "v1.0"}}}
        """
    }

    /// Returns the `lodge search` program, after a check that it finds the user.
    func command(_ binary: CommandBinary) throws -> Program {
        let program = Program(
            path: binary.path,
            arguments: [
                "search", "ada", "--settings", folder.path + "/settings.json", "--store", folder.path + "/store",
            ],
            environment: environment)
        guard try program.output().contains("ada@contoso.example") else {
            throw BenchmarkError("lodge search does not find the user")
        }
        return program
    }

    /// Returns the `lodge token` program, after a check that it prints the stored token.
    func token(_ binary: CommandBinary) throws -> Program {
        let program = Program(
            path: binary.path,
            arguments: ["token", "--settings", folder.path + "/settings.json", "--store", folder.path + "/store"],
            environment: environment)
        guard try program.output() == TokenAnswer.standardToken + "\n" else {
            throw BenchmarkError("lodge token does not print the stored token")
        }
        return program
    }

    /// Returns a Python script that gets the token from MSAL's cache and requests the same URL with it.
    func python(_ python: Python) throws -> Program {
        guard let target = targets.last else { throw BenchmarkError("lodge search sent no request") }
        let words = [
            folder.path + "/msal.json", TokenAnswer.standardToken, "http://127.0.0.1:\(listener.port)\(target)",
        ]
        _ = try python.script("search.py", words + ["prepare"], environment).run()
        let program = python.script("search.py", words, environment)
        guard try program.output().contains("ada@contoso.example") else {
            throw BenchmarkError("Python and lodge search receive different responses")
        }
        return program
    }

    /// Returns curl with the URL and header fields of `lodge search`.
    func curl(_ path: String) throws -> Program {
        guard let target = targets.last else { throw BenchmarkError("lodge search sent no request") }
        let program = Program(
            path: path,
            arguments: [
                "-s", "-H", "Authorization: Bearer \(TokenAnswer.standardToken)", "-H", "Accept: application/json",
                "http://127.0.0.1:\(listener.port)\(target)",
            ],
            environment: environment)
        guard try program.output().contains("ada@contoso.example") else {
            throw BenchmarkError("curl and lodge search receive different responses")
        }
        return program
    }
}

/// The target of the last request.
final class RequestTargets: Sendable {
    private let target = Mutex<String?>(nil)

    var last: String? { target.withLock { $0 } }
    func note(_ text: String) { target.withLock { $0 = text } }
}
