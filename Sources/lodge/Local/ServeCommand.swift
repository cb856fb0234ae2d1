import CommandLineKit
import JOSE
import LodgePlatform
import LocalProvider
import OAuth2AccountStore
import StrictJSON

@MainActor struct ServeCommand: CommandHandler {
    enum Input {
        static let port = Option.integer("port", "PORT", "port on 127.0.0.1 and ::1 (a free port)", in: 0...65_535)
        static let users = Option.integer("users", "N", "users in the directory (300)", in: 1...1_000_000)
        static let portFile = Option.text("port-file", "FILE", "write the port to this file", completion: .file)
        static let tls = Option.flag("tls", "use HTTPS with a new private CA")
        static let authorityFile = Option.text(
            "write-ca", "FILE", "with --tls, write the CA to this file (a new temporary file)",
            completion: .file)
        static let clients = Option.texts(
            "client", "ID[:SECRET]",
            "accept this client instead of lodge and lodge-confidential:not-a-secret")
        static let certificates = Option.texts(
            "client-certificate", "ID=FILE",
            "accept assertions of this client with a certificate in FILE (PEM), or with a chain to one of an authority")
        static let redirectURIs = Option.texts(
            "redirect-uri", "URI", "accept this redirect URI for every client")
        static let scopes = Option.texts("scope", "SCOPE", "offer this scope of your API")
        static let approve = Option.flag(
            "approve", "sign in the user of login_hint without a page")
        static let tokenLifetime = Option.seconds(
            "token-lifetime", "SECONDS", "lifetime of access tokens (3600)", in: 1...86_400)
        static let injectedError = Option.texts(
            "fault", "NAME[=VALUE][:COUNT]", "error to inject: lodge help faults",
            completion: .words(InjectedErrors.Name.all.map(\.rawValue)))
        static let serviceAccount = Option.text(
            "service-account", "FILE", "accept the key file of this Google service account", completion: .file)
        static let quota = Option.integer(
            "quota", "N", "resource units per application in 10 s (none)", in: 1...1_000_000)
        static let log = Option.flag("log", "print each request")
    }

    nonisolated static let command = Command(
        "serve", "Run a local test provider with a sample directory.",
        discussion: """
            serve listens on loopback only; press Ctrl-C to stop it. It prints the issuer, the clients with their secrets and the \
            URLs of the directory; --output json prints one object. Every program on this machine can sign in as any user: \
            use no real secrets. MSAL and azure-identity need --tls and the printed authority. Each start with --tls \
            creates a CA and prints its file, for REQUESTS_CA_BUNDLE, SSL_CERT_FILE and --ca-file; lodge deletes the file at the end. \
            For applications without a secret, serve simulates the metadata services of Azure and Google: set \
            AZURE_POD_IDENTITY_AUTHORITY_HOST or GCE_METADATA_HOST to the issuer.
            """,
        examples: [
            "lodge serve --port 8765", "lodge serve --tls --approve",
            "lodge serve --client web:secret --redirect-uri https://app.example/cb",
            "lodge serve --fault directory-429=2.5:3",
        ],
        options: [
            Input.port, Input.users, Input.portFile, Input.tls, Input.authorityFile, Input.clients, Input.certificates,
            Input.redirectURIs,
            Input.scopes, Input.approve, Input.tokenLifetime, Input.injectedError,
            Input.serviceAccount, Input.quota, Input.log,
        ], formats: OutputFormat.ofSentences,
        json: .object([
            "issuer": "URL", "authority": "URL", "tenant": "", "graph": "URL", "scim": "URL",
            "user": "the first user", "clients": "array of id, secret and redirectUris",
            "caFile": "path, with --tls", "settings": "for lodge",
        ])
    ) { try await ServeCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        if invocation[Input.authorityFile] != nil, !invocation[Input.tls] {
            throw CommandError(
                .usage, "--write-ca requires --tls", reason: "without TLS there is no CA", hint: "lodge help serve")
        }
        var configuration = LoopbackProvider.Configuration()
        configuration.port = UInt16(clamping: invocation[Input.port] ?? 0)
        if let users = invocation[Input.users] { configuration.userCount = users }
        if let lifetime = invocation[Input.tokenLifetime] { configuration.accessTokenLifetime = lifetime }
        configuration.quota = invocation[Input.quota]
        configuration.usesTLS = invocation[Input.tls]
        configuration.approvesRequests = invocation[Input.approve]
        configuration.clients = try clients()
        configuration.additionalScopes = try scopes()
        if let path = invocation[Input.serviceAccount] {
            let (mail, key) = try Self.serviceAccount(path)
            configuration.platform.serviceAccountKeys = [mail: key]
        }
        let (requests, log) = AsyncStream.makeStream(of: LoggedRequest.self, bufferingPolicy: .bufferingNewest(10_000))
        if invocation[Input.log] { configuration.onRequest = { log.yield($0) } }
        for text in invocation[Input.injectedError] {
            do throws(InjectedErrors.ParsingError) {
                try configuration.injectedErrors.add(parsing: text)
            } catch {
                throw CommandError(
                    .usage, "wrong value of --fault", reason: error.description, hint: "lodge help faults")
            }
        }
        let provider: LoopbackProvider
        do {
            provider = try await LoopbackProvider(configuration: configuration)
        } catch {
            throw CommandError(
                .failed, "cannot start the local provider", reason: "\(error)", hint: Self.hint(for: error))
        }
        var authorityFile: String?
        defer { if let authorityFile { Self.remove(authorityFile, of: provider) } }
        do {
            authorityFile = try await writeAuthority(provider)
            if let path = invocation[Input.portFile] {
                try await context.write(Array("\(provider.port)\n".utf8), to: path, "the port")
            }
            try report(ServeReport(provider, configuration, authorityFile: authorityFile))
        } catch {
            await provider.shutDown()
            throw error
        }
        // Runs until a signal cancels the command.
        for await request in requests { console.note(Self.line(request)) }
        await provider.shutDown()
        console.note("Stopped.")
        return .done
    }

    /// Reads the mail address and the key of a service account. The provider uses only the public half of the key.
    private static func serviceAccount(_ path: String) throws -> (mail: String, key: JWK) {
        func failure(_ reason: String) -> CommandError {
            CommandError(
                .usage, "wrong value of --service-account", reason: "\(path): \(reason)", hint: "lodge help serve")
        }
        let object: JSONObject?
        switch OwnerOnlyFile.read(path, maximumSize: 64 * 1024) {
        case .failure(let error): throw failure(error.explanation)
        case .success(let bytes): object = (try? JSONValue(parsing: bytes))?.object
        }
        guard let mail = object?["client_email"]?.string, let pem = object?["private_key"]?.string else {
            throw failure("expected client_email and private_key")
        }
        do throws(CertificateError) {
            var key = try JWK(privateKeyPEM: Array(pem.utf8))
            key.keyID = object?["private_key_id"]?.string
            return (mail, key)
        } catch {
            throw failure("private_key is \(error.found)")
        }
    }

    private static func hint(for error: any Error) -> Hint? {
        switch error as? LoopbackError {
        case .portTaken, .portNotPermitted: "choose another port with --port"
        case .tlsUnavailable:
            "install OpenSSL 3 (libssl3 on Debian and Ubuntu, openssl@3 with Homebrew), or omit --tls"
        default: nil
        }
    }

    /// Prints the issuer on standard output; with JSON, all values that a client needs.
    private func report(_ report: ServeReport) throws {
        if console.options.reportsJSON {
            try console.write(.object(report.json))
        } else {
            try console.writeLine(report.issuer)
        }
        try console.flush()
        for line in report.lines { console.note(line) }
    }

    /// Writes the CA to the file of `--write-ca`, or to a new temporary file. Returns its path, or `nil` without TLS.
    private func writeAuthority(_ provider: LoopbackProvider) async throws -> String? {
        guard let authority = provider.certificateAuthority else { return nil }
        if let path = invocation[Input.authorityFile] {
            try await context.write(Array(authority.utf8), to: path, "the CA")
            return path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        }
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let letters = try context.dependencies().randomLetters()
        let path = "\(folder.hasSuffix("/") ? folder : folder + "/")lodge-serve-\(provider.port)-\(letters).pem"
        // Readable for other users: a certificate is not a secret.
        do throws(SystemError) {
            try OwnerOnlyFile.create(path, Array(authority.utf8), suffix: letters, mode: 0o644).get()
        } catch {
            throw CommandError(
                .failed, "cannot write the CA to \(path)", reason: error.explanation,
                hint: "set TMPDIR to a writable folder")
        }
        return path
    }

    /// Deletes the CA file, unless another process has replaced it with its own CA.
    private static func remove(_ path: String, of provider: LoopbackProvider) {
        guard let authority = provider.certificateAuthority,
            case .success(let bytes) = OwnerOnlyFile.read(path, maximumSize: 64 * 1024), bytes == Array(authority.utf8)
        else { return }
        unlink(path)
    }

    // MARK: Clients

    private func clients() throws(CommandError) -> [LocalClient] {
        let redirectURIs = invocation[Input.redirectURIs]
        if let wrong = redirectURIs.first(where: { !LocalClient.canRegister(redirectURI: $0) }) {
            throw CommandError(
                .usage, "cannot accept the redirect URI \"\(wrong)\"",
                reason: "expected an absolute URI without a fragment; http only for 127.0.0.1, [::1] and localhost",
                hint: "for example: lodge serve --redirect-uri https://app.example/callback")
        }
        var clients: [LocalClient] = []
        for text in invocation[Input.clients] {
            let client = try Self.client(text)
            guard !clients.contains(where: { $0.id == client.id }) else {
                throw CommandError(
                    .usage, "cannot accept two clients \"\(client.id)\"", reason: "expected each ID once",
                    hint: "lodge help serve")
            }
            clients.append(client)
        }
        if clients.isEmpty { clients = LoopbackProvider.Configuration().clients }
        for text in invocation[Input.certificates] { try addCertificate(text, to: &clients) }
        for index in clients.indices { clients[index].redirectURIs += redirectURIs }
        return clients
    }

    /// Adds the certificate of `ID=FILE` to a client, or a client that has only this certificate.
    private func addCertificate(_ text: String, to clients: inout [LocalClient]) throws(CommandError) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw CommandError(
                .usage, "wrong value of --client-certificate", reason: "expected ID=FILE",
                hint: "for example: lodge serve --client-certificate app=app.pem")
        }
        guard case .success(let bytes) = OwnerOnlyFile.read(parts[1], maximumSize: 64 * 1024),
            case let pem = String(decoding: bytes, as: UTF8.self), LocalClient.hasCertificate(pem)
        else {
            throw CommandError(
                .usage, "cannot accept the certificate of \(parts[0])",
                reason: "\(parts[1]) is not a readable PEM file with the certificate of an RSA key",
                hint: "lodge help serve")
        }
        if let index = clients.firstIndex(where: { $0.id == parts[0] }) {
            clients[index].certificates.append(pem)
        } else {
            var client = LocalClient(id: parts[0], name: parts[0])
            client.certificates = [pem]
            clients.append(client)
        }
    }

    private func scopes() throws(CommandError) -> [String] {
        let scopes = invocation[Input.scopes]
        // RFC 6749 section 3.3: visible ASCII characters without a quote and a backslash.
        if let wrong = scopes.first(where: { scope in
            scope.isEmpty || !scope.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        }) {
            throw CommandError(
                .usage, "cannot offer the scope \"\(wrong)\"",
                reason: "expected visible ASCII characters without a space",
                hint: "for example: lodge serve --scope tasks.read --scope tasks.write")
        }
        return scopes
    }

    /// Parses `ID` or `ID:SECRET`.
    private static func client(_ text: String) throws(CommandError) -> LocalClient {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        // RFC 6749 appendix A: visible ASCII characters and spaces. The first colon separates ID and secret.
        let isValid = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        }
        guard isValid, parts.count < 2 || !parts[1].hasPrefix("//") else {
            throw CommandError(
                .usage, "wrong value of --client",
                reason: "expected ID or ID:SECRET in ASCII; an ID contains no colon, and neither is empty",
                hint: "for example: lodge serve --client web:a-test-secret")
        }
        return LocalClient(id: parts[0], name: parts[0], secret: parts.count > 1 ? parts[1] : nil)
    }

    /// Returns a line of `--log`: method, path with query, status or a dash, and the injected error.
    private static func line(_ request: LoggedRequest) -> String {
        let query = request.query.map { "?\($0)" } ?? ""
        let status = request.status.map { String($0) } ?? "-"
        return "\(request.method) \(request.path)\(query) \(status)" + (request.injectedError.map { " \($0)" } ?? "")
    }
}
