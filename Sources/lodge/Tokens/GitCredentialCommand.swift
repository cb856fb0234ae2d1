import CommandLineKit
import Platform
import OAuth2AccountStore

/// `git-credential`: the protocol of git's credential helpers (gitcredentials(7), git-credential(1)).
@MainActor struct GitCredentialCommand: CommandHandler {
    nonisolated static let getCommand = Command(
        "get", "Answer git's question.", examples: ["lodge git-credential get"], formats: OutputFormat.ofText
    ) { try await GitCredentialCommand(context: $0).get() }

    nonisolated static let storeCommand = Command(
        "store", "Do nothing: accounts are kept already.", examples: ["lodge git-credential store"],
        formats: OutputFormat.ofText
    ) { try GitCredentialCommand(context: $0).store() }

    nonisolated static let eraseCommand = Command(
        "erase", "Renew a token that did not work.", examples: ["lodge git-credential erase"],
        formats: OutputFormat.ofText
    ) { try await GitCredentialCommand(context: $0).erase() }

    nonisolated static let group = Command(
        "git-credential", "Give git the token of an account, as a credential helper.",
        discussion: """
            Git asks by itself, once it is told to: the account types of the settings answer for the host of their issuer or endpoints, \
            and for their resourceHosts. Nothing is answered for plain http but on this machine. What git wants to store is ignored; what it \
            found useless is renewed the next time. A user name that git was given chooses the account of this name; one that no account has \
            gets the account in use, unless it is an address or the name of an account for another host: then nothing is answered.
            """, examples: ["git config credential.helper '!lodge git-credential'"],
        subcommands: [getCommand, storeCommand, eraseCommand])

    let context: CommandContext

    /// The largest request, in bytes. Git's own lines have at most 64 KiB.
    private static let maximumRequest = 256 * 1024

    /// A request of git: attributes, one a line.
    struct Request {
        var attributes: [String: String] = [:]

        /// Creates a request from the lines before the first empty line. A request with another control character has no attributes:
        /// programs disagree about where such a line ends.
        init(_ bytes: [UInt8]) {
            guard bytes.allSatisfy({ $0 == 0x0A || $0 >= 0x20 && $0 != 0x7F }) else { return }
            for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
                if line.isEmpty { return }
                guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
                let name = String(decoding: line[..<equals], as: UTF8.self)
                attributes[name] = String(decoding: line[line.index(after: equals)...], as: UTF8.self)
            }
        }

        /// The server; `nil` if it must not get a token.
        var host: TokenHost? {
            // Nothing but a name or an address and a port: in `gitlab.com/.evil.com` or `evil.com@gitlab.com` programs see different hosts.
            guard let text = attributes["host"], let scheme = attributes["protocol"],
                text.wholeMatch(of: /([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/) != nil,
                let url = URL(string: "\(scheme)://\(text)/"), scheme == "https" || scheme == "http" && url.isLoopback
            else { return nil }
            return TokenHost(url)
        }
    }

    /// Prints nothing if no account type has that host: git then asks the next helper, or the user.
    func get() async throws -> ExitStatus {
        let request = Request(try context.world.readInput(Self.maximumRequest))
        guard let (store, account) = try await account(for: request) else { return .done }
        let token = try await store.accessToken(for: account.id)
        var lines = ["username=\(request.attributes["username"] ?? Self.userName)", "password=\(token.secret.value)"]
        if let expiry = token.expiry { lines.append("password_expiry_utc=\(Int(expiry.timeIntervalSince1970))") }
        // A line break in a value would be another attribute.
        guard lines.allSatisfy({ !$0.utf8.contains(0x0A) && !$0.utf8.contains(0) }) else {
            throw CommandError(.failed, "the credential is not given to git", reason: "it has a line break in it")
        }
        for line in lines { try console.writeLine(line) }
        return .done
    }

    /// Git reports a rejected password. If it is the current token, it is refreshed.
    func erase() async throws -> ExitStatus {
        let request = Request(try context.world.readInput(Self.maximumRequest))
        guard let password = request.attributes["password"], let (store, account) = try await account(for: request),
            account.canRefresh
        else { return .done }
        let token = try await store.accessToken(for: account.id)
        if token.secret.value == password { _ = try await store.accessToken(for: account.id, rejected: token.secret) }
        return .done
    }

    /// Reads and ignores the credential that git stores.
    func store() throws -> ExitStatus {
        _ = try context.world.readInput(Self.maximumRequest)
        return .done
    }

    /// GitHub and GitLab take any name beside a token; this is the one that GitLab names.
    private static let userName = "oauth2"

    private func account(for request: Request) async throws -> (AccountStore, Account)? {
        guard let host = request.host else { return nil }
        let settings = try context.settings()
        let named = invocation[GlobalOptions.type]
        let types = settings.types.filter { type in
            (named == nil || type.name == named) && Self.hosts(of: type).contains(where: host.isAllowed)
        }
        guard !types.isEmpty else { return nil }
        let store = try await context.store(settings)
        let accounts = try await store.accounts(ofType: nil)
        let own = accounts.filter { account in types.contains { $0.name == account.type } }
        if let name = invocation[GlobalOptions.account] {
            let found = CommandContext.accounts(named: name, among: own)
            // None, or several: an error as elsewhere, but where it is an account of another host.
            let account = found.count == 1 ? found[0] : try await context.account(store, named: name)
            return types.contains { $0.name == account.type } ? (store, account) : nil
        }
        if let name = request.attributes["username"], !name.isEmpty {
            for type in types {
                let named = CommandContext.accounts(named: name, among: own.filter { $0.type == type.name })
                if named.count == 1 { return (store, named[0]) }
                // Several people of one name: the one in use, or nobody.
                guard !named.isEmpty else { continue }
                let current = try await store.currentAccount(ofType: type.name)
                guard let current, named.contains(where: { $0.id == current.id }) else {
                    throw CommandError(several: named, named: name, hint: "name one of them with --account")
                }
                return (store, current)
            }
            // Somebody who has no account for this host must not get another person's token.
            guard !name.contains("@"), CommandContext.accounts(named: name, among: accounts).isEmpty else { return nil }
        }
        // No name, or one that is nobody's, such as the host's own word for "a token": any account will do.
        for type in types {
            if let current = try await store.currentAccount(ofType: type.name) { return (store, current) }
        }
        return nil
    }

    private static func hosts(of type: AccountType) -> [String] {
        var urls = Array(type.endpoints.values)
        switch type.provider {
        case .issuer(let text), .authority(let text): urls += [URL(string: text)].compactMap { $0 }
        case .endpoints, .staticToken: break
        }
        return urls.compactMap(TokenHost.init).map(\.description) + type.resourceHosts
    }
}
