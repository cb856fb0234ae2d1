import LoopbackHTTP
import LodgePlatform
import HTTPExchange
import OAuth2Protocol

extension SignInCoordinator {
    /// Opens the browser, and waits for its redirect on a loopback port.
    func signInByBrowser(
        _ type: String, _ browser: SignInMethod.BrowserSignIn, _ options: SignInOptions
    ) async throws -> Account {
        let redirect = try self.type(type).redirectURI
        guard redirect.isLoopback else {
            throw AccountStoreError(
                .settings, what: "cannot sign in with the browser",
                reason: "the redirect URI \(redirect.text) does not point to this machine", remedy: .changeSettings,
                hint: "set redirectUri to http://127.0.0.1/callback, and register it with the provider")
        }
        let result = Promise<Account>()
        let receiver = RedirectReceiver(
            path: redirect.path.isEmpty ? "/" : redirect.path, result: result, reject: browser.reject
        ) { try await self.finish(redirect: $0, for: $1) }
        let listener: LoopbackListener
        do throws(LoopbackError) {
            let host = redirect.host.filter { $0 != "[" && $0 != "]" }
            listener = try LoopbackListener(
                host: host, port: redirect.port ?? 0, limits: .redirect, handler: receiver.respond)
        } catch {
            throw AccountStoreError(
                .settings, what: "cannot wait for the browser", reason: "\(error)", remedy: .changeSettings,
                hint: LoopbackPort.hint(redirect.port, of: type))
        }
        receiver.origin = "http://\(redirect.host):\(listener.port)"
        let outcome: Result<Account, any Error>
        do {
            let address = redirect.port == nil ? try redirect.replacingPort(listener.port) : redirect
            let prepared = try await prepareSignIn(to: type, options: options, redirectURI: address)
            defer { cancel(prepared) }
            receiver.signIn = prepared.id
            outcome = .success(
                try await wait(for: result, showing: prepared, by: browser.show, options.timeout ?? Self.defaultTimeout)
            )
        } catch {
            outcome = .failure(AccountStoreError.wrapping(error, what: "cannot begin the sign-in"))
        }
        await listener.shutDown()
        return try outcome.get()
    }

    /// Shows the URL, and waits for the account, the time limit or cancellation.
    private func wait(
        for result: Promise<Account>, showing prepared: PreparedSignIn,
        by show: (@Sendable (PreparedSignIn) async throws -> Void)?, _ timeout: Duration
    ) async throws -> Account {
        let open = dependencies.openBrowser
        let show = show ?? { try await open($0.url) }
        // Not awaited, because the closure can run longer than the sign-in and can ignore cancellation.
        let showing = Task {
            do {
                try await show(prepared)
            } catch {
                result.finish(.failure(AccountStoreError.callback(error, what: "cannot show the sign-in page")))
            }
        }
        defer { showing.cancel() }
        return try await withThrowingTaskGroup(of: Account.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await result.value() }
            group.addTask { [dependencies] in
                try await dependencies.sleep(timeout)
                throw AccountStoreError(
                    .timedOut, what: "the sign-in was not finished", reason: "no redirect within \(timeout)",
                    remedy: .retryLater(after: nil), hint: "try again, with a longer time limit if necessary")
            }
            guard let account = try await group.next() else { throw CancellationError() }
            return account
        }
    }
}
