import CommandLineKit
import Platform
import LocalProvider
import OAuth2AccountStore
import StrictJSON

@MainActor struct ServeCommand: CommandHandler {
    enum Input {
        static let port = Option.integer("port", "PORT", "port on 127.0.0.1 (a free one)", in: 0...65_535)
        static let users = Option.integer("users", "N", "people in the directory (300)", in: 1...1_000_000)
        static let portFile = Option.text("port-file", "FILE", "write the port to this file", completion: .file)
        static let tokenLifetime = Option.seconds(
            "token-lifetime", "SECONDS", "life of an access token (3600)", in: 1...86_400)
        static let injectedError = Option.texts(
            "fault", "NAME[=VALUE][:COUNT]", "a fault to play",
            completion: .words(InjectedErrors.Name.all.map(\.rawValue)))
        static let quota = Option.integer(
            "quota", "N", "resource units an application may use in 10 seconds (no limit)", in: 1...1_000_000)
        static let log = Option.flag("log", "print each request")
    }

    nonisolated static let command = Command(
        "serve", "Run a local provider and directory, for trying things out.",
        discussion:
            "It listens on loopback only and ends with Ctrl-C. InjectedErrors: \(InjectedErrors.Name.all.map(\.rawValue).joined(separator: ", ")).",
        examples: [
            "lodge serve --port 8765", "lodge serve --fault token-503:2", "lodge serve --fault directory-429=2.5:3",
        ],
        options: [
            Input.port, Input.users, Input.portFile, Input.tokenLifetime, Input.injectedError, Input.quota, Input.log,
        ], formats: OutputFormat.ofSentences
    ) { try await ServeCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        var configuration = LoopbackProvider.Configuration()
        configuration.port = UInt16(clamping: invocation[Input.port] ?? 0)
        if let users = invocation[Input.users] { configuration.userCount = users }
        if let lifetime = invocation[Input.tokenLifetime] { configuration.accessTokenLifetime = lifetime }
        configuration.quota = invocation[Input.quota]
        let (requests, log) = AsyncStream.makeStream(of: LoggedRequest.self, bufferingPolicy: .bufferingNewest(10_000))
        if invocation[Input.log] { configuration.onRequest = { log.yield($0) } }
        for text in invocation[Input.injectedError] {
            do throws(InjectedErrors.ParsingError) {
                try configuration.injectedErrors.add(parsing: text)
            } catch {
                throw CommandError(
                    .usage, "wrong value of --fault", reason: error.description, hint: "lodge help serve")
            }
        }
        let provider: LoopbackProvider
        do {
            provider = try await LoopbackProvider(configuration: configuration)
        } catch {
            throw CommandError(
                .failed, "the local provider did not start", reason: "\(error)", hint: "name another port with --port")
        }
        if let path = invocation[Input.portFile] {
            do {
                try await context.write(Array("\(provider.port)\n".utf8), to: path, "the port")
            } catch {
                await provider.shutDown()
                throw error
            }
        }
        try console.writeLine("\(provider.issuer.absoluteString)")
        try console.flush()
        console.note(
            "A provider and a directory of \(provider.userCount) invented people, until Ctrl-C. Settings for it:")
        console.note(settings(provider).text())
        // Until a signal cancels the command.
        for await request in requests { console.note(Self.line(request)) }
        await provider.shutDown()
        console.note("Stopped.")
        return .done
    }

    /// A request as `--log` prints it: method, path with query, status or a dash, and the injected error.
    private static func line(_ request: LoggedRequest) -> String {
        let query = request.query.map { "?\($0)" } ?? ""
        let status = request.status.map { String($0) } ?? "-"
        return "\(request.method) \(request.path)\(query) \(status)" + (request.injectedError.map { " \($0)" } ?? "")
    }

    private func settings(_ provider: LoopbackProvider) -> JSONValue {
        [
            "types": [
                "local": [
                    "issuer": .string(provider.issuer.absoluteString), "clientId": .string(provider.clientID),
                    "redirectUri": "http://127.0.0.1/callback",
                    "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
                    "graphAPI": .string(provider.graphBase.absoluteString),
                ]
            ]
        ]
    }
}
