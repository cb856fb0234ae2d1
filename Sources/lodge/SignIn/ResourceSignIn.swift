import CommandLineKit
import Diagnostics
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// Finds or adds the account type of a URL: `sign-in https://api.example/`.
///
/// See [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728), and the authorization of the Model Context Protocol.
@MainActor struct ResourceSignIn {
    let context: CommandContext
    /// The scope of the command line, which replaces the resource's.
    let scope: Scope?
    /// Whether to prompt before adding the type.
    let confirms: Bool

    /// The redirect URI of clients that lodge does not register. Each sign-in adds a free port (RFC 8252 section 7.3).
    private static let redirectURI = "http://127.0.0.1/callback"
    /// The maximum length of a typed line, in bytes.
    private nonisolated static let maximumLine = 4096

    private var console: Console { context.console }

    /// Returns whether the argument of `sign-in` is a URL. Names of account types cannot contain `://`.
    static func isAddress(_ text: String) -> Bool { text.contains("://") }

    /// The client of the new type.
    private enum NewClient {
        /// The client of a type in the settings.
        case configured(AccountType, JSONObject)
        /// The URL of a client metadata document.
        case document(String)
        /// A client to register after the confirmation, with this redirect URI.
        case registration(String)
        /// A client identifier typed by the user.
        case typed(String)

        var keys: JSONObject {
            switch self {
            case .configured(_, let keys): keys
            case .document(let id), .typed(let id): ["clientId": .string(id), "clientAuthentication": "none"]
            case .registration(let redirectURI): ["clientId": "unknown", "redirectUri": .string(redirectURI)]
            }
        }

        /// The description of the client for the user.
        var text: String {
            switch self {
            case .configured(let type, _): "\(type.clientID), of the account type \(type.name)"
            case .document(let id), .typed(let id): id
            case .registration: "will be registered at the issuer"
            }
        }
    }

    /// Returns the name of the account type for a URL, adding the type if it is missing.
    ///
    /// Sends the first request for a registration, code or token after all checks and the confirmation.
    func accountType(for address: String) async throws -> String {
        do throws(OAuth2Error) {
            _ = try EndpointURL.check(address, name: "the URL", allowsLoopbackHTTP: true)
        } catch {
            throw CommandError(
                .usage, "cannot sign in to this URL", reason: "\(error)",
                hint: "\(run: "sign-in") https://api.example/")
        }
        let path = try TypeAddition.settingsPath(context)
        let clients = try ConfiguredClients(bytes: try SettingsEdit.read(path), file: path)
        let dependencies = context.dependencies()
        let found = try await describe(address, dependencies)
        let issuer = try await issuer(of: found)
        if let type = clients.types.first(where: { $0.hasIssuer(issuer) && $0.resources == [found.resource] }) {
            console.verbose("The account type \(type.name) is for this address.")
            return type.name
        }
        let addition = TypeAddition(context: context, name: name(of: found, among: clients.typeNames), path: path)
        // Everything except the client is checked before the first request to the server.
        var keys = keys(of: found, issuer)
        let old = try SettingsEdit.read(path)
        let trial = try addition.edited(keys.merging(NewClient.registration(Self.redirectURI).keys), old).type
        let server = try await server(of: trial, found)
        let client = try await client(issuer, server, clients)
        keys = keys.merging(client.keys)
        let type = try addition.edited(keys, old).type
        try await confirm(type, issuer, found, client, path)
        if case .registration = client {
            try await addition.register(
                type, keys.removing("clientId"), metadata(of: found, type, server), required: type.scope, at: server)
        } else {
            try await addition.save(keys)
        }
        console.note("Added \(addition.name) to \(path).")
        return addition.name
    }

    private func describe(
        _ address: String, _ dependencies: Dependencies
    ) async throws -> ResourceDiscovery.Description {
        do {
            return try await ResourceDiscovery(transport: dependencies.transport(nil)).describe(address)
        } catch var error as AccountStoreError where error.kind == .network && error.hint?.actions.isEmpty != false {
            // The hint of the store is about accounts and settings, which do not exist yet.
            error.hint = "check the URL, the network and the proxy"
            throw error
        } catch var error as AccountStoreError where error.kind == .invalidAnswer {
            // A retry would get the same metadata, and there is no account yet.
            error.hint = "tell the provider of the API; the settings are unchanged"
            throw error
        }
    }

    /// Throws for a word that is the URL of an API without its scheme, unless it is an account type.
    static func checkType(_ word: String, _ context: CommandContext) throws {
        guard word.contains("."), ProviderPreset(named: word) == nil,
            let url = try? EndpointURL.check("https://" + word, name: "", allowsLoopbackHTTP: false),
            url.host()?.contains(".") == true,
            try context.settingsOfFile()?.typeNames.contains(word) != true
        else { return }
        throw CommandError(
            .settings, "no account type \(word)", reason: "the settings do not have it",
            hint: "to sign in to the API at this URL, run: \(run: "sign-in") \(Self.word("https://" + word))")
    }

    // MARK: Provider

    /// Returns the issuer chosen by the user, or the first one.
    private func issuer(of found: ResourceDiscovery.Description) async throws -> String {
        let issuers = found.authorizationServers
        var chosen = issuers[0]
        if issuers.count > 1, confirms, console.canPrompt {
            let count = min(issuers.count, Self.maximumChoices)
            console.instruct("The tokens of \(found.url.addressWithoutQuery) are issued by:")
            for (number, issuer) in issuers.prefix(Self.maximumChoices).enumerated() {
                console.instruct("  \(number + 1)  \(issuer)")
            }
            console.instruct("Number of the issuer to sign in to (1):")
            let line = try await typedLine()
            guard let number = line.isEmpty ? 1 : Int(line),
                (1...count).contains(number)
            else {
                throw CommandError(
                    .usage, "no issuer has this number", reason: "expected 1 to \(count), found \(line)",
                    hint: "run the command again")
            }
            chosen = issuers[number - 1]
        }
        return chosen
    }

    private static let maximumChoices = 20

    /// Returns the server, if it is safe to use.
    private func server(
        of type: AccountType, _ found: ResourceDiscovery.Description
    ) async throws -> AuthorizationServer {
        let server = try await ProviderReport.server(of: type, dependencies: context.dependencies())
        guard server.codeChallengeMethods?.contains("S256") == true else {
            throw failure(
                found,
                "the authorization server \(server.issuer ?? "") does not announce PKCE with S256, which is required")
        }
        for (name, endpoint) in [
            ("authorization_endpoint", server.authorizationEndpoint), ("token_endpoint", server.tokenEndpoint),
        ] where endpoint == nil {
            throw failure(
                found, server.unusable[name] ?? "the authorization server \(server.issuer ?? "") has no \(name)")
        }
        return server
    }

    private func failure(_ found: ResourceDiscovery.Description, _ reason: String) -> CommandError {
        CommandError(
            .failed, "cannot sign in to \(found.url.addressWithoutQuery)", reason: reason,
            hint: "tell the provider of the API; the settings are unchanged")
    }

    // MARK: Type

    /// Returns the host, with port and path if necessary.
    private func name(of found: ResourceDiscovery.Description, among types: [String]) -> String {
        let names = Set(types + ProviderPreset.names)
        let host = found.url.shownHost.lowercased()
        let path = found.url.path(percentEncoded: true).split(separator: "/").joined(separator: "/")
        var candidates = [host]
        if !path.isEmpty { candidates.append("\(host)/\(path)") }
        if let free = candidates.first(where: { !names.contains($0) }) { return free }
        var number = 2
        while names.contains("\(host)-\(number)") { number += 1 }
        return "\(host)-\(number)"
    }

    private func keys(of found: ResourceDiscovery.Description, _ issuer: String) -> JSONObject {
        var keys: JSONObject = [
            "issuer": .string(issuer), "redirectUri": .string(Self.redirectURI),
            "scopes": .array((scope ?? found.scope).tokens.map(JSONValue.string)),
            "resources": [.string(found.resource)],
            "resourceHosts": [.string(TokenHost(found.url)?.description ?? "")],
        ]
        if found.requiresDPoP { keys["dpop"] = true }
        return keys
    }

    // MARK: Client

    private func client(
        _ issuer: String, _ server: AuthorizationServer, _ clients: ConfiguredClients
    ) async throws -> NewClient {
        if let type = clients.type(ofIssuer: issuer) { return .configured(type, clients.clientKeys(of: type)) }
        if server.acceptsClientMetadataDocuments, let document = clients.metadataDocument { return .document(document) }
        if server.registrationEndpoint != nil { return .registration(try registeredRedirectURI()) }
        guard confirms, console.canPrompt else {
            throw CommandError(
                .settings, "no client for \(issuer)",
                reason: "the authorization server does not offer client registration",
                hint: "register a native application there, then run: \(run: "providers add") NAME "
                    + "--issuer \(Self.word(issuer)) --client-id ID")
        }
        console.instruct(
            "\(issuer) does not offer client registration. Register a native application")
        console.instruct("there with the redirect URI \(Self.redirectURI), then enter its client identifier:")
        let id = try await typedLine()
        guard !id.isEmpty, id.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw CommandError(.usage, "no client identifier", reason: "expected printable ASCII")
        }
        return .typed(id)
    }

    /// Returns the redirect URI for a client to register.
    ///
    /// Many servers, including those for the Model Context Protocol, compare the port too, although RFC 8252 section
    /// 7.3 forbids it. Therefore the port is chosen once, outside the ephemeral port ranges of operating systems.
    private func registeredRedirectURI() throws -> String {
        let number = try context.dependencies().random(2).reduce(0) { $0 << 8 | Int($1) }
        return "http://127.0.0.1:\(20_000 + number % 12_000)/callback"
    }

    /// Returns the members of the registration that depend on the server and the resource.
    private func metadata(
        of found: ResourceDiscovery.Description, _ type: AccountType, _ server: AuthorizationServer
    ) -> JSONObject {
        var members: JSONObject = [:]
        // Some servers never grant a scope that the client did not register, and a later request can require more
        // scopes.
        let listed = Scope(found.knownScope.tokens.filter { server.scopes?.contains($0) ?? true })
        let scope = type.scope.union(listed)
        if !scope.isEmpty { members["scope"] = .string(scope.text) }
        return members
    }

    // MARK: User

    private func confirm(
        _ type: AccountType, _ issuer: String, _ found: ResourceDiscovery.Description, _ client: NewClient,
        _ path: String
    ) async throws {
        console.instruct("\(found.url.addressWithoutQuery) requires a sign-in:")
        for (label, value) in [
            ("Issuer", issuer),
            ("Scopes", type.scope.isEmpty ? "(none)" : type.scope.text), ("Client", client.text),
            ("Token hosts", type.tokenHosts.joined(separator: ", ")),
        ] {
            console.instruct("  \(label):" + String(repeating: " ", count: max(1, 13 - label.utf8.count)) + value)
        }
        if found.isParent {
            console.instruct("The tokens will be for \(found.resource.prefix { $0 != "?" }), which includes this URL.")
        }
        guard confirms else { return }
        guard console.canPrompt else {
            throw CommandError(
                .signInNeeded, "the sign-in is not confirmed",
                reason: console.options.disablesInput
                    ? "--no-input forbids the confirmation" : "there is no terminal for the confirmation",
                hint: "if this is the right issuer, "
                    // The query can contain a secret.
                    + (found.url.query() == nil
                        ? "run: \(run: "sign-in") \(Self.word(found.url.absoluteString)) --yes"
                        : "run the command again with --yes"))
        }
        console.instruct("Add this account type to \(path) and sign in? [y/N]")
        guard try await context.isConfirmed() else {
            throw CommandError(.failed, "not signed in", reason: "the sign-in was not confirmed")
        }
    }

    /// Returns a URL for a command line, quoted only if necessary.
    private static func word(_ url: String) -> String {
        url.wholeMatch(of: /[A-Za-z0-9:\/._@%+-]+/) == nil ? url.shellWord : url
    }

    private func typedLine() async throws -> String {
        let line = try await context.world.readLine(Self.maximumLine) ?? ""
        let isSpace: (Character) -> Bool = { " \t\r".contains($0) }
        return String(line.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}

extension JSONObject {
    /// Returns the members of both. Members of `other` replace members with the same name.
    fileprivate func merging(_ other: JSONObject) -> JSONObject {
        var result = self
        for member in other.members { result[member.name] = member.value }
        return result
    }

    fileprivate func removing(_ name: String) -> JSONObject { JSONObject(members.filter { $0.name != name }) }
}
