import AgentProtocol
import LodgePlatform
import OAuth2AccountStore

/// What a command tells the agent about its output: how long another run would print the same.
///
/// It exists only in a worker of the agent.
@MainActor final class OutputValidity {
    /// The time that a token must remain valid for a refresh ahead of time.
    let minimumValidity: Duration?
    /// Whether the agent runs the command for itself.
    let isBackground: Bool
    private(set) var output: RememberedOutput?

    init(minimumValidity: Duration?, isBackground: Bool = false) {
        self.minimumValidity = minimumValidity
        self.isBackground = isBackground
    }

    func remember(_ output: RememberedOutput) { self.output = output }
}

extension CommandContext {
    /// Returns the state of all files that decide which token a command prints, or `nil` outside the agent.
    ///
    /// Call it before the store is opened: another process can change it while the command runs, and closing a
    /// descriptor of an open database would release SQLite's locks.
    func filesOfToken() throws -> [FileStamp]? {
        guard world.outputValidity != nil, let folder = try databaseFolder else { return nil }
        var files = [
            FileStamp(reading: folder + "/accounts.sqlite", .database),
            FileStamp(reading: folder + "/accounts.key", .file),
        ]
        if let path = invocation[GlobalOptions.settings] {
            files.append(FileStamp(reading: path, .file))
        } else if let settingsDirectory {
            for name in ["", "/settings.json", "/settings.plist"] {
                files.append(FileStamp(reading: settingsDirectory + name, .file))
            }
        }
        return files
    }

    /// Tells the agent how long the command prints this token.
    ///
    /// - Parameter validity: The value of `--min-validity`.
    func remember(
        _ token: AccessToken, of account: Account, _ store: AccountStore, validity: Duration?, files: [FileStamp]?
    ) {
        // The user allows each use.
        guard store.settings[account.type]?.agentConfirm != true, let recorder = world.outputValidity, let files,
            !files.contains(where: { $0.kind == .database && $0.state == nil })
        else { return }
        // Without a known lifetime, read the store again after five minutes.
        var until = Date.now.addingTimeInterval(300)
        let lifetime = token.lifetime ?? 3600
        if let expiry = token.expiry {
            let margin = validity.map { min($0 / .seconds(1), lifetime * 4 / 5) } ?? min(60, lifetime / 5)
            until = expiry.addingTimeInterval(-margin)
        }
        recorder.remember(
            RememberedOutput(
                byteCount: 0, validUntil: until.timeIntervalSince1970,
                expiry: account.canRefresh ? token.expiry?.timeIntervalSince1970 : nil,
                refreshTime: token.refreshTime?.timeIntervalSince1970, lifetime: lifetime, account: account.label,
                type: account.type, files: files))
    }
}
