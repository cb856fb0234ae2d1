import Platform
import OAuth2Protocol

extension SignInCoordinator {
    /// Signs in with the text that the user copies from any browser.
    func signInByPaste(
        _ type: String, _ read: @Sendable (URL) async throws -> String, _ options: SignInOptions
    ) async throws -> Account {
        let prepared = try await prepareSignIn(to: type, options: options)
        defer { cancel(prepared) }
        let text = Self.trimmed(try await read(prepared.url))
        guard prepared.redirectURI.text == RedirectURI.outOfBand else {
            do {
                return try await handleRedirect(text, for: prepared.id)
            } catch let error as AccountStoreError where error.kind == .redirectRefused {
                var error = error
                error.hint =
                    "copy the whole address at which the browser ended; it begins with \(prepared.redirectURI.text)"
                throw error
            }
        }
        return try await redeem(prepared, code: text)
    }

    private static func trimmed(_ text: String) -> String {
        let isSpace: (Character) -> Bool = { $0.isWhitespace || $0.isNewline }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    /// Redeems a code that the provider showed. It has no state: only the code verifier binds it to this sign-in (RFC 7636).
    private func redeem(_ prepared: PreparedSignIn, code: String) async throws -> Account {
        let sign = pending.withLock { $0.removeValue(forKey: prepared.id) }
        return try await publishingFailure { typeName in
            typeName = sign?.connection.type.name
            guard let sign, sign.expires > dependencies.now() else {
                throw AccountStoreError(
                    .timedOut, what: "the sign-in was not finished", reason: "the code came too late",
                    remedy: .retryLater(after: nil), hint: "try again, with a longer time limit if necessary")
            }
            guard !code.isEmpty, code.utf8.count <= 4096, code.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw AccountStoreError(
                    .redirectRefused, what: "cannot sign in", reason: "the pasted text is not a code", remedy: .nothing,
                    hint: "try again, and copy only the code that the provider shows")
            }
            return try await finish(sign, Secret(code))
        }
    }
}
