import CommandLineKit
import HTTPExchange
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential`: passes tokens to other programs in their credential protocols. Each protocol is a subcommand.
enum CredentialCommand {
    static let group = Command(
        "credential", "Pass a token to another program in its credential protocol.",
        discussion: """
            The other program runs this command. It gets a token only for a host of an account type: the host of the issuer or of \
            an endpoint, or one of the resourceHosts. If such a host has no account, standard error names the sign-in. oidc-agent \
            serves any account; --allow restricts it. To set up other programs: lodge help credentials, lodge help cloud.
            """, examples: ["git config --global credential.helper '!lodge credential git'"],
        subcommands: [
            GitCredentialCommand.command, DockerCredentialCommand.command, KubectlCredentialCommand.command,
            CargoCredentialCommand.command, BazelCredentialCommand.command, KeyringCredentialCommand.command,
            GoogleCredentialCommand.command, AWSCredentialCommand.command, OIDCAgentCredentialCommand.command,
            FilesCredentialCommand.command,
        ])
}

extension CommandContext {
    /// The maximum size of a request from another program in bytes.
    static let maximumCredentialRequest = 256 * 1024

    /// Returns the account for the URL of a server, or `nil` if no account type has its host.
    ///
    /// - Parameters:
    ///   - address: A URL, or a host with or without a port. Without a scheme, it is https.
    ///   - userName: The user name from the other program.
    /// - Throws: like ``HostAccount/find(_:named:userName:_:)``.
    func hostAccount(for address: String, userName: String? = nil) async throws -> HostAccount? {
        guard let host = Self.tokenHost(address) else { return nil }
        return try await HostAccount.find(host, named: host.description, userName: userName, self)
    }

    /// Returns a valid Bearer token.
    ///
    /// - Parameter scope: The scope that the token must cover; empty for any.
    /// - Throws: `CommandError` for a token of another type: only the store can sign requests with it.
    func bearerToken(of found: HostAccount, scope: Scope = []) async throws -> AccessToken {
        try Self.checkIsPassable(found.account)
        let token: AccessToken
        do {
            token = try await found.store.accessToken(for: found.account.id, scopes: scope.isEmpty ? nil : scope)
        } catch let error as AccountStoreError {
            throw Self.advised(error, found.store, found.account, scopes: scope.isEmpty ? nil : scope)
        }
        try Self.requireBearer(token, of: found.account)
        return token
    }

    /// Throws if a token is not a Bearer token: only the store can sign requests with it.
    static func requireBearer(_ token: AccessToken, of account: Account) throws(CommandError) {
        guard token.type == "bearer" else { throw boundToken(of: account) }
    }

    /// Returns an ID token that is valid for a while.
    ///
    /// - Throws: `CommandError` if the account's tokens are bound to a key, or if the provider sends no ID token.
    func idToken(of found: HostAccount) async throws -> (secret: Secret, expiry: Date) {
        try Self.checkIsPassable(found.account)
        return try await idToken(found.store, of: found.account)
    }

    /// Throws if the account's tokens are bound to a key.
    static func checkIsPassable(_ account: Account) throws(CommandError) {
        if account.isKeyBound { throw boundToken(of: account) }
    }

    private static func boundToken(of account: Account) -> CommandError {
        CommandError(
            .failed, "cannot pass the token of \(account.label) to another program",
            reason: "it is bound to a key, which only lodge can use", hint: "\(run: "request") GET URL")
    }

    /// Returns a valid Bearer token for the URL of a server, or `nil` if no account type has its host.
    func bearerToken(for address: String, userName: String? = nil) async throws -> AccessToken? {
        guard let found = try await hostAccount(for: address, userName: userName) else { return nil }
        return try await bearerToken(of: found)
    }

    /// Returns the server of an address, or `nil` if it must not get a token: plain http is only for this machine.
    static func tokenHost(_ address: String) -> TokenHost? {
        // Programs disagree where a URL with other characters ends.
        guard address.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }) else { return nil }
        let text = address.contains("://") ? address : "https://\(address)"
        guard let url = URL(string: text), url.user(percentEncoded: true) == nil,
            url.scheme?.lowercased() == "https" || url.scheme?.lowercased() == "http" && url.isLoopback
        else { return nil }
        return TokenHost(url)
    }

    /// Reads the request of another program as a JSON object.
    func credentialRequest(_ text: String) throws(CommandError) -> JSONObject {
        guard let object = (try? JSONValue(parsing: text))?.object else {
            throw CommandError(
                .usage, "cannot read the request", reason: "expected a JSON object",
                hint: "let the other program run this command: lodge help credentials")
        }
        return object
    }

    /// Returns an error as one line, for a program that shows it instead of standard error.
    func failureText(_ error: any Error) -> String {
        let failure = CommandError(
            reporting: error, type: world.stores.usedType, remedyText: invocation.remedyText)
        return [failure.message, failure.reason, failure.hint?.description].compactMap(\.self).joined(separator: ": ")
    }

    /// Writes a response as one line.
    func writeCredential(_ response: JSONObject) throws {
        try console.writeLine(String(decoding: JSONValue.object(response).serialized(), as: UTF8.self))
    }
}
