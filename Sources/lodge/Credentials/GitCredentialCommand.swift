import CommandLineKit
import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform

/// `credential git`: a credential helper of git. See gitcredentials(7) and git-credential(1).
@MainActor struct GitCredentialCommand: CommandHandler {
    enum Input {
        static let operation = Argument.required(
            "OPERATION", "get, store or erase", completion: .words(Operation.allCases.map(\.rawValue)))
    }

    enum Operation: String, CaseIterable {
        case get, store, erase
    }

    nonisolated static let command = Command(
        "git", "Act as a credential helper of git.",
        discussion: """
            To set it up: lodge help git. Git 2.46 and later send the token as Bearer if the server accepts that. get prints the \
            token. store does nothing. erase replaces the token that the server rejected. A user name in the URL selects the account of \
            this name; oauth2, git and similar user names select the active account of the host. lodge never prints a token for \
            plain http, except on this machine.
            """,
        examples: [
            "printf 'protocol=https\\nhost=gitlab.com\\n' | lodge credential git get"
        ], arguments: [Input.operation], formats: OutputFormat.ofText
    ) { try await GitCredentialCommand(context: $0).run() }

    let context: CommandContext

    /// The maximum size of a request in bytes. Git's own lines have at most 64 KiB.
    private static let maximumRequest = 256 * 1024

    func run() async throws -> ExitStatus {
        guard let operation = Operation(rawValue: invocation[Input.operation]) else { return try ignoreOperation() }
        let request = Request(try context.world.readInput(Self.maximumRequest))
        switch operation {
        case .get: try await get(request)
        case .store: break
        case .erase: try await erase(request)
        }
        return .done
    }

    /// Ignores an operation of a later version of git, as gitcredentials(7) requires.
    ///
    /// A user at a terminal gets an error.
    private func ignoreOperation() throws -> ExitStatus {
        let name = invocation[Input.operation]
        guard console.terminal.inputIsTerminal else { return .done }
        let names = Operation.allCases.map(\.rawValue)
        throw CommandError(
            .usage, "unknown operation \(UsageError.quoted(name))", reason: "expected \(OptionSpec.list(names))",
            hint: "lodge credential git \(SpellingSuggestion.nearest(to: name, in: names) ?? "get")")
    }

    // MARK: Protocol

    /// A request from git: one attribute per line.
    struct Request {
        var attributes: [String: String] = [:]
        /// The attributes with several values, by name without `[]`.
        var lists: [String: [String]] = [:]

        /// Creates a request from the lines before the first empty line.
        ///
        /// A request with a control character other than tab has no attributes, because programs disagree where such a
        /// line ends.
        init(_ bytes: [UInt8]) {
            guard bytes.allSatisfy({ $0 == 0x0A || $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else { return }
            for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
                if line.isEmpty { return }
                guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let name = String(decoding: line[..<equals], as: UTF8.self)
                let value = String(decoding: line[line.index(after: equals)...], as: UTF8.self)
                if name.hasSuffix("[]") {
                    // An empty value clears the list.
                    lists[String(name.dropLast(2)), default: []].append(value)
                    if value.isEmpty { lists[String(name.dropLast(2))] = [] }
                } else {
                    attributes[name] = value
                }
            }
        }

        /// The server, or `nil` if it must not get a token.
        var host: TokenHost? {
            // Only a name or IP address with a port: programs parse `gitlab.com/.evil.com` or `evil.com@gitlab.com`
            // differently.
            guard let text = attributes["host"], let scheme = attributes["protocol"],
                text.wholeMatch(of: /([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/) != nil,
                let url = URL(string: "\(scheme)://\(text)/"), scheme == "https" || scheme == "http" && url.isLoopback
            else { return nil }
            return TokenHost(url)
        }

        /// Whether git supports authentication schemes (git 2.46), and the server accepts Bearer or named no scheme.
        var acceptsBearer: Bool {
            guard lists["capability"]?.contains("authtype") == true else { return false }
            var fields = HTTPFields()
            for value in lists["wwwauth"] ?? [] { fields.append(name: "WWW-Authenticate", value: value) }
            let schemes = AuthenticationChallenge.challenges(in: fields).map(\.scheme)
            return schemes.isEmpty || schemes.contains("bearer")
        }

        /// The token rejected by the server.
        var rejectedToken: String? { attributes["password"] ?? attributes["credential"] }
    }

    /// Prints the token.
    ///
    /// If no account type has the host, prints nothing: git then queries the next helper, or prompts the user.
    private func get(_ request: Request) async throws {
        guard let found = try await account(for: request) else { return }
        let token = try await context.bearerToken(of: found)
        let secret = token.secret.value
        var lines =
            if request.acceptsBearer {
                // ephemeral: other helpers do not save it.
                ["capability[]=authtype", "authtype=Bearer", "credential=\(secret)", "ephemeral=1"]
            } else {
                ["username=\(request.attributes["username"] ?? Self.userName)", "password=\(secret)"]
            }
        if let expiry = token.expiry { lines.append("password_expiry_utc=\(Int(expiry.timeIntervalSince1970))") }
        // A line break in a value would start another attribute.
        guard lines.allSatisfy({ !$0.utf8.contains(0x0A) && !$0.utf8.contains(0) }) else {
            throw CommandError(.failed, "cannot pass the credential to git", reason: "it contains a line break")
        }
        for line in lines { try console.writeLine(line) }
    }

    /// Refreshes the rejected token if it is the current one.
    private func erase(_ request: Request) async throws {
        guard let rejected = request.rejectedToken, let found = try await account(for: request),
            found.account.canRefresh
        else { return }
        let token = try await found.store.accessToken(for: found.account.id)
        if token.secret.value == rejected {
            _ = try await found.store.accessToken(for: found.account.id, rejected: token.secret)
        }
    }

    /// GitHub and GitLab accept any name with a token; GitLab documents this name.
    private static let userName = "oauth2"

    private func account(for request: Request) async throws -> HostAccount? {
        guard let host = request.host else { return nil }
        return try await HostAccount.find(
            host, named: request.attributes["host"] ?? "", userName: request.attributes["username"], context)
    }
}
