import LodgePlatform
import OAuth2Protocol

extension SignInCoordinator {
    /// Signs in with a window of the app, such as a web authentication session.
    func signInByWebSession(
        _ type: String, _ present: @Sendable (PreparedSignIn) async throws -> URL, _ options: SignInOptions
    ) async throws -> Account {
        let prepared = try await prepareSignIn(to: type, options: options)
        defer { cancel(prepared) }
        let redirect: URL
        do {
            redirect = try await present(prepared)
        } catch {
            throw AccountStoreError.callback(error, what: "cannot show the sign-in page")
        }
        return try await finish(
            prepared, redirect: redirect.absoluteString,
            hint: "return the complete URL of the redirect; it begins with \(prepared.redirectURI.text)")
    }

    /// Signs in with the text that the user copies from any browser.
    func signInByPaste(
        _ type: String, _ read: @Sendable (URL) async throws -> String, _ options: SignInOptions
    ) async throws -> Account {
        let prepared = try await prepareSignIn(to: type, options: options)
        defer { cancel(prepared) }
        let text: String
        do {
            text = Self.trimmed(try await read(prepared.url))
        } catch {
            throw AccountStoreError.callback(error, what: "cannot read the redirect")
        }
        guard prepared.redirectURI.text == RedirectURI.outOfBand else {
            return try await finish(
                prepared, redirect: text,
                hint: "copy the whole address at which the browser ended; it begins with \(prepared.redirectURI.text)")
        }
        return try await redeem(prepared, code: text)
    }

    /// Finishes a sign-in with its only redirect. It does not wait for another one.
    private func finish(_ prepared: PreparedSignIn, redirect: String, hint: Hint) async throws -> Account {
        try Task.checkCancellation()
        guard pending.withLock({ $0[prepared.id].map { $0.expires > dependencies.now() } ?? false }) else {
            throw Self.tooLate("the redirect came too late")
        }
        do {
            return try await finish(redirect: redirect, for: prepared.id, isOwn: true)
        } catch var error as AccountStoreError where error.kind == .redirectRefused {
            error.hint = hint
            throw error
        }
    }

    private static func tooLate(_ reason: String) -> AccountStoreError {
        AccountStoreError(
            .timedOut, what: "the sign-in was not finished", reason: reason, remedy: .retryLater(after: nil),
            hint: "try again, with a longer time limit if necessary")
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace || $0.isNewline }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    /// Redeems a code that the user copied. A copied code has no state: only the code verifier binds it to this sign-in
    /// (RFC 7636).
    private func redeem(_ prepared: PreparedSignIn, code: String) async throws -> Account {
        let sign = pending.withLock { $0.removeValue(forKey: prepared.id) }
        guard let sign, sign.expires > dependencies.now() else { throw Self.tooLate("the code came too late") }
        guard !code.isEmpty, code.utf8.count <= 4096, code.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw AccountStoreError(
                .redirectRefused, what: "cannot sign in", reason: "the pasted text is not a code", remedy: .nothing,
                hint: "try again, and copy only the code that the provider shows")
        }
        return try await finish(sign, Secret(code))
    }
}
