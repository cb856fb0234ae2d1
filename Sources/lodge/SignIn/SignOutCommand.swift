import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor struct SignOutCommand: CommandHandler {
    enum Input {
        static let account = Argument.optional("ACCOUNT", "account to sign out", completion: .account)
        static let local = Option.flag("local", "remove the account without the network")
        static let browser = Option.flag(
            "browser", "end the browser's session at the provider, too (always on a shared device)")
        static let all = Option.flag("all", "sign out of all accounts")
    }

    nonisolated static let command = Command(
        "sign-out", aliases: ["logout"], "Revoke an account's tokens and remove it.",
        discussion: """
            lodge revokes the tokens if the provider supports it, and reports each part. It removes the account from this machine even if \
            the provider cannot be reached.
            """, examples: ["lodge sign-out ada@contoso.com", "lodge sign-out --all"], arguments: [Input.account],
        options: [Input.local, Input.browser, Input.all], formats: OutputFormat.ofSentences,
        json: .array(of: [
            "account": "", "type": "account type", "removed": "true",
            "revocation": "done, not-offered, skipped or failed",
            "browserSession": "asked, not-offered, skipped or failed",
        ]), needsNoSettings: true
    ) { try await SignOutCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        if invocation[Input.all], invocation[Input.account] != nil {
            throw CommandError(
                .usage, "--all cannot be combined with an account", reason: "an account is given",
                hint: "lodge help sign-out")
        }
        let store = try await context.store()
        let accounts =
            invocation[Input.all]
            ? try await store.accounts(ofType: invocation[GlobalOptions.type])
            : [try await context.account(store, named: invocation[Input.account])]
        guard !accounts.isEmpty else {
            throw CommandError(.notFound, "not signed in", hint: "\(AccountRemedy.signIn(type: nil))")
        }
        // Without a valid type, the tokens cannot be revoked, so ask the user before removing any account.
        if !invocation[Input.local] {
            for account in accounts { try checkType(of: account, store) }
        }
        var records: [JSONValue] = []
        for account in accounts {
            try await OfflineCopies.forget(account, context)
            context.removeTokenFiles(of: account.type, store.settings)
            // On a shared device the browser session always ends, except with --local.
            let report = try await store.signOut(
                account.id, revoking: !invocation[Input.local],
                endingBrowserSession: invocation[Input.browser] ? true : nil)
            let isStaticToken = store.settings[account.type]?.provider == .staticToken
            let revocation = Self.revocation(report.revocation, isStaticToken)
            let browser = Self.browserSession(report)
            console.note("Removed \(account.label) (\(account.type)) here.")
            console.note(revocation.sentence)
            if !isStaticToken, !report.account.isClient { console.note(browser.sentence) }
            records.append([
                "account": .string(account.label), "type": .string(account.type), "removed": true,
                "revocation": .string(revocation.word), "browserSession": .string(browser.word),
            ])
        }
        if console.options.reportsJSON { try console.write(.array(records)) }
        return .done
    }

    private func checkType(of account: Account, _ store: AccountStore) throws {
        do throws(SettingsError) {
            _ = try store.settings.type(named: account.type)
        } catch {
            throw CommandError(
                .settings, "cannot revoke the tokens of \(account.label) (\(account.type))", reason: "\(error)",
                hint:
                    "correct the settings; to only remove it here, run: \(run: "sign-out --local") \(account.id.rawValue)"
            )
        }
    }

    private static func revocation(
        _ part: SignOutReport.Part, _ isStaticToken: Bool
    ) -> (sentence: String, word: String) {
        switch part {
        case .notOffered where isStaticToken:
            (
                "lodge cannot revoke a token that you supplied. To revoke it, use the service that issued it.",
                "not-offered"
            )
        case .succeeded: ("The provider has revoked the tokens.", "done")
        case .notOffered:
            ("The provider does not support revocation: the tokens are valid until they expire.", "not-offered")
        case .skipped: ("The tokens are not revoked: they are valid until they expire.", "skipped")
        case .failed(let reason):
            ("The provider did not confirm the revocation, so the tokens may still be valid: \(reason).", "failed")
        }
    }

    private static func browserSession(_ report: SignOutReport) -> (sentence: String, word: String) {
        switch report.browserSession {
        case .succeeded: ("The browser opened the sign-out page.", "asked")
        case .notOffered: ("The provider does not support ending the browser's session.", "not-offered")
        // Without a URL, --browser cannot end the session either.
        case .skipped where report.endSessionURL == nil: ("The browser's session continues.", "skipped")
        case .skipped: ("The browser's session continues (--browser ends it).", "skipped")
        case .failed(let reason): ("The browser's session could not be ended: \(reason).", "failed")
        }
    }
}
