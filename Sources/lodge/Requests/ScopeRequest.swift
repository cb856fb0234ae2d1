import CommandLineKit
import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform

/// The sign-in with additional scopes that a resource requires (`insufficient_scope`, RFC 6750 section 3.1).
@MainActor struct ScopeRequest {
    let context: CommandContext
    let store: AccountStore

    /// Prompts the user to sign in with the additional scopes of a response, and returns whether the user did.
    ///
    /// Returns `false` without a terminal. The error of the response then names the command.
    func grants(_ response: HTTPStreamedResponse, from url: URL, to account: Account) async throws -> Bool {
        let console = context.console
        // A command with a time limit does not wait for a user.
        guard console.canPrompt, context.deadline == nil, !account.isClient,
            var needed = HTTPResponse(status: response.status, fields: response.fields).scopeNeeded
        else { return false }
        // Some servers name the scope only in their metadata.
        if needed.isEmpty {
            let discovery = ResourceDiscovery(transport: context.dependencies().transport(nil))
            needed = (try? await discovery.describe(url.absoluteString).scope) ?? []
        }
        guard case let scope = account.scope.union(needed), scope != account.scope, scope.firstInvalidToken == nil
        else { return false }
        console.instruct("The API requires the scope \(needed.text). Sign in to \(account.type) again with it? [y/N]")
        guard try await context.isConfirmed() else { return false }
        var options = SignInOptions()
        options.scope = scope
        options.loginHint = account.userName
        let active = try await store.activeAccount()
        let signedIn = try await SignInCommand(context: context, hasOwnOptions: false).signIn(
            to: account.type, options, store)
        // A request does not change which account is active.
        if let active, active.id != signedIn.id { try await store.makeCurrent(active) }
        guard signedIn.id == account.id else {
            throw CommandError(
                .failed, "the request was not sent again",
                reason: "\(signedIn.label) signed in, and the request is for \(account.label)",
                hint: "specify the account with --account")
        }
        return true
    }
}

extension CommandContext {
    /// Returns the account for a URL.
    ///
    /// This is the account of the command line, otherwise the active account of the type with the longest entry in
    /// `resources` that contains the URL, otherwise the active account.
    func account(_ store: AccountStore, for address: String) async throws -> Account {
        guard invocation[GlobalOptions.account] == nil, invocation[GlobalOptions.type] == nil else {
            return try await account(store)
        }
        let matches = store.settings.types.flatMap { type in
            type.resources.filter { ProtectedResource.covers($0, address) }.map { (type, $0.utf8.count) }
        }
        guard let (type, _) = matches.max(by: { $0.1 < $1.1 }) else { return try await account(store) }
        let account = try await account(store, ofType: type.name)
        try await select(account, store)
        return account
    }
}
