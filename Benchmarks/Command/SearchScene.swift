import HTTPExchange
import JOSE
import LocalProvider
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
    private let relay: SlowRelay?
    /// The URL of the directory, without a path.
    private let origin: String
    /// The file with the certificate authority of the directory, if it has TLS.
    private let authority: String?

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

    /// Creates the account and starts the directory.
    ///
    /// - Parameter delay: The time of each byte in each direction. With a delay, the directory has TLS.
    init(environment: [String: String], delay: Duration? = nil) async throws {
        folder = try TemporaryFolder()
        let folder = folder
        let relay = try delay.map { try SlowRelay(delay: $0) }
        self.relay = relay
        let certificate = try delay.map { _ in
            try LoopbackCertificate(now: Date.now, randomBytes: { try SecureRandom.bytes($0) })
        }
        let targets = RequestTargets()
        let people = Self.people
        self.targets = targets
        listener = try LoopbackListener(
            publicPort: relay?.port,
            tls: certificate.map { try LoopbackTLS(certificate: $0.certificate, privateKey: $0.privateKey) },
            // As a real server, it keeps connections open.
            limits: .server
        ) { request in
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
        let served = listener.port
        relay?.start(to: served)
        origin = "\(delay == nil ? "http" : "https")://127.0.0.1:\(relay?.port ?? served)"
        authority = certificate == nil ? nil : folder.path + "/ca.pem"
        if let certificate { try folder.write(certificate.authority, to: "ca.pem") }
        try folder.write(Self.settings(origin: origin, authority: authority), to: "settings.json")
        let directory = StoreLocation(folder.path + "/store")
        let store = try await AccountStore(
            settings: try Settings(contentsOf: URL(filePath: folder.path + "/settings.json")),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            watchesOtherProcesses: false)
        _ = try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: TokenAnswer.standardToken)), toType: "graph")
    }

    func close() {
        relay?.close()
        listener.close()
        folder.remove()
    }

    static func settings(port: UInt16) -> String { settings(origin: "http://127.0.0.1:\(port)", authority: nil) }

    private static func settings(origin: String, authority: String?) -> String {
        """
        {"defaultType": "graph", "types": {"graph": {\(authority.map { "\"caFile\": \"\($0)\"," } ?? "")
            "authorizationEndpoint": "\(origin)/authorize",
            "tokenEndpoint": "\(origin)/token", "clientId": "benchmark",
            "redirectUri": "http://127.0.0.1/callback", "scopes": ["User.ReadBasic.All"],
            "graphAPI": "\(origin)/", "api-version": "v1.0"}}}
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
            folder.path + "/msal.json", TokenAnswer.standardToken, origin + target,
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
                origin + target,
            ] + (authority.map { ["--cacert", $0] } ?? []),
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
