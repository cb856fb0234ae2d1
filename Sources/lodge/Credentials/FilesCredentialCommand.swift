import AgentProtocol
import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential files`: writes the token files of the settings.
@MainActor struct FilesCredentialCommand: CommandHandler {
    nonisolated static let command = Command(
        "files", "Write the token files of the settings.",
        discussion: """
            tokenFiles in the settings lists files for programs that read a token from a file. Each is replaced in one step, with mode \
            0600. The agent writes them before half of a token's lifetime is over, and removes them when it is locked or ends. \
            A sign-in also writes them, and a sign-out removes them.
            """,
        examples: ["lodge credential files"], formats: OutputFormat.ofText
    ) { try await FilesCredentialCommand(context: $0).run() }

    let context: CommandContext

    /// The shortest time between two runs in the agent, in seconds.
    private static let shortestInterval = 30.0

    func run() async throws -> ExitStatus {
        let settings = try context.settings()
        guard !settings.agent.tokenFiles.isEmpty else {
            throw CommandError(
                .settings, "there are no token files", reason: "\(settings.source) does not contain tokenFiles",
                hint: "lodge help settings")
        }
        let files = try context.filesOfToken()
        let store = try await context.store(settings)
        var failure: (any Error)?
        var next: Double?
        for file in settings.agent.tokenFiles {
            // Write the other files, too, if an account was removed.
            do {
                let due = try await context.write(file, store)
                next = [next, due].compactMap { $0 }.min()
                try console.writeLine(try context.path(of: file).visible)
            } catch let error where !(error is CancellationError) {
                if failure != nil { console.note("\(CommandError(reporting: error).message)") }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        if let recorder = context.world.outputValidity, recorder.isBackground, let files, let next {
            // The agent runs the command again when a tenth of this lifetime is left.
            let interval = max(Self.shortestInterval, next - Date.now.timeIntervalSince1970)
            let until = Date.now.timeIntervalSince1970 + interval * 10 / 9
            recorder.remember(
                RememberedOutput(
                    byteCount: 0, validUntil: until, expiry: until, refreshTime: nil, lifetime: interval * 10 / 9,
                    account: "token files", type: "-", files: files))
        }
        return .done
    }
}

extension CommandContext {
    /// Returns the path of a token file.
    ///
    /// - Throws: `CommandError` if it is outside the folder for files of the user's session, and the settings do not allow it.
    func path(of file: AgentSettings.TokenFile) throws -> String {
        let folder = world.variable("XDG_RUNTIME_DIR")
        let prefix = "$XDG_RUNTIME_DIR/"
        var path = file.path
        if path.hasPrefix(prefix) {
            guard let folder, folder.hasPrefix("/") else {
                throw CommandError(
                    .settings, "cannot write the token file \(path)", reason: "XDG_RUNTIME_DIR is not set",
                    hint: "set it, or use an absolute path with allowsAnyFolder in the settings")
            }
            path = folder + "/" + path.dropFirst(prefix.count)
        }
        if !file.allowsAnyFolder {
            guard let folder, path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/") else {
                throw CommandError(
                    .settings, "cannot write the token file \(path.visible)",
                    reason: "it is not below XDG_RUNTIME_DIR, which only you can read",
                    hint: "move it there, or set allowsAnyFolder in the settings")
            }
        }
        return path
    }

    /// Writes a token file. Returns the time at which it must be written again, in seconds since 1970, if it is known.
    func write(_ file: AgentSettings.TokenFile, _ store: AccountStore) async throws -> Double? {
        let path = try path(of: file)
        let account: Account
        let secret: Secret
        let expiry: Date?
        var lifetime = 3600.0
        do {
            account = try await self.account(of: file, store)
            switch file.content {
            case .access:
                var token = try await store.accessToken(for: account.id)
                guard token.type == "bearer" else {
                    throw CommandError(
                        .failed, "cannot write the token of \(account.label) to a file",
                        reason: "it is bound to a key, which only lodge can use")
                }
                lifetime = token.lifetime ?? lifetime
                if let known = token.expiry, account.canRefresh,
                    known.timeIntervalSince(store.dependencies.now()) < lifetime / 2
                {
                    token = try await store.accessToken(
                        for: account.id, minimumValidity: .seconds(lifetime / 2))
                }
                (secret, expiry) = (token.secret, account.canRefresh ? token.expiry : nil)
            case .id:
                let token = try await idToken(store, of: account, minimumValidity: .seconds(600))
                (secret, expiry) = (token.secret, token.expiry)
                lifetime = max(0, token.expiry.timeIntervalSince(store.dependencies.now()))
            }
        } catch {
            // Programs must not use the token of a removed account.
            if CommandError(reporting: error).status == .signInNeeded { unlink(path) }
            throw error
        }
        let letters = try store.dependencies.randomLetters()
        do {
            try TokenFileWriter.write(Array((secret.value + "\n").utf8), to: path, suffix: letters)
        } catch {
            throw CommandError(
                .failed, "cannot write the token file \(path.visible)", reason: error.explanation,
                hint: "use a folder that only you can write")
        }
        return expiry.map { $0.timeIntervalSince1970 - lifetime / 2 }
    }

    private func account(of file: AgentSettings.TokenFile, _ store: AccountStore) async throws -> Account {
        guard let name = file.account else {
            let account = try await account(store, ofType: file.type)
            try await select(account, store)
            return account
        }
        let own = try await store.accounts(ofType: file.type)
        guard let account = Self.accounts(named: name, among: own).first else {
            throw CommandError(
                .signInNeeded, "cannot write the token file \(file.path.visible)",
                reason: "there is no account \(name.visible) of type \(file.type)",
                hint: "\(run: "sign-in") \(file.type)")
        }
        try await select(account, store)
        return account
    }

    /// Writes the token files of an account type after a sign-in.
    func writeTokenFiles(of type: String, _ store: AccountStore) async {
        for file in store.settings.agent.tokenFiles where file.type == type {
            do {
                _ = try await write(file, store)
            } catch {
                console.note("Warning: \(failureText(error))")
            }
        }
    }

    /// Removes the token files of an account type after a sign-out.
    func removeTokenFiles(of type: String, _ settings: Settings) {
        for file in settings.agent.tokenFiles where file.type == type {
            if let path = try? path(of: file) { unlink(path) }
        }
    }
}

/// Replaces a token file in one step, with mode 0600.
enum TokenFileWriter {
    static func write(_ bytes: [UInt8], to path: String, suffix: String) throws(SystemError) {
        var status = stat()
        let folder = OwnerOnlyFile.directory(of: path)
        guard stat(folder, &status) == 0 else { throw SystemError() }
        // Others could replace the file.
        guard status.st_uid == geteuid() || status.st_uid == 0,
            status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0
        else { throw SystemError(explanation: "other users can write to \(folder.visible)") }
        let beside = path + "." + suffix + ".new"
        try OwnerOnlyFile.create(beside, bytes, suffix: suffix).get()
        guard rename(beside, path) == 0 else {
            let failure = SystemError()
            unlink(beside)
            throw failure
        }
    }
}
