import LodgePlatform
import StrictJSON

/// The settings of a background process that keeps the tokens of the account types fresh.
package struct AgentSettings: Sendable, Equatable {
    /// A file with a token, for programs that read tokens from files.
    package struct TokenFile: Sendable, Equatable {
        package enum Content: String, Sendable {
            case access
            case id
        }

        /// The path. It can start with `$XDG_RUNTIME_DIR/`.
        package var path: String
        package var type: String
        /// The name of the account; `nil` for the current account of the type.
        package var account: String?
        package var content = Content.access
        /// Whether the file may be outside the folder for files of the user's session.
        package var allowsAnyFolder = false
    }

    /// Whether the first command that could use the process starts it.
    package var startsAutomatically = false
    /// The time without a command after which the process locks itself.
    package var lockAfter: Duration?
    /// Whether a suspend locks the process.
    package var locksOnSleep = false
    /// Whether the process listens on the socket of oidc-agent.
    package var hasOIDCAgentSocket = false
    package var tokenFiles: [TokenFile] = []

    package init() {}
}

extension SettingsDecoder {
    /// Returns the settings of the background process.
    ///
    /// - Parameter types: The names of the account types.
    func agentSettings(types: [String]) throws(SettingsError) -> AgentSettings {
        var settings = AgentSettings()
        settings.startsAutomatically =
            try value("agent", "\"off\" or \"auto\"") { value in
                ["off": false, "auto": true][value.string ?? ""]
            } ?? false
        settings.lockAfter = try value("agentLockAfter", "a number of minutes from 1 to 10080") { value in
            value.number?.int64.flatMap { (1...10_080).contains($0) ? .seconds($0 * 60) : nil }
        }
        settings.locksOnSleep = try flag("agentLockOnSleep") ?? false
        settings.hasOIDCAgentSocket = try flag("oidcAgentSocket") ?? false
        let entries = try value("tokenFiles", "an array of objects", \.array) ?? []
        for (index, entry) in entries.enumerated() {
            guard let object = entry.object else { throw error("tokenFiles[\(index)]", "an object", entry.kind) }
            let decoder = TokenFileDecoder(file: file, path: "tokenFiles[\(index)].", object: object)
            settings.tokenFiles.append(try decoder.tokenFile(types: types))
        }
        return settings
    }
}

private struct TokenFileDecoder: DictionaryDecoder {
    let file: String
    let path: String
    let object: JSONObject
    let writtenKeys: [String: String] = [:]

    private static let keys = ["path", "type", "account", "token", "allowsAnyFolder"]

    func tokenFile(types: [String]) throws(SettingsError) -> AgentSettings.TokenFile {
        if let unknown = unknownKey(Self.keys) {
            throw error(
                unknown, "one of \(Self.keys.joined(separator: ", "))", "an unknown key",
                hint: SpellingSuggestion.hint(for: unknown, in: Self.keys))
        }
        let location = try text("path")
        guard location.hasPrefix("/") || location.hasPrefix("$XDG_RUNTIME_DIR/"), !location.hasSuffix("/"),
            !location.split(separator: "/").contains(".."), !location.utf8.contains(0)
        else {
            throw error(
                "path", "an absolute path, or $XDG_RUNTIME_DIR/ with a path, without ..", location.debugDescription)
        }
        let type = try text("type")
        guard types.contains(type) else {
            throw error(
                "type", "one of \(types.joined(separator: ", "))", type.debugDescription,
                hint: SpellingSuggestion.nearest(to: type, in: types).map { "did you mean \($0.debugDescription)?" })
        }
        return AgentSettings.TokenFile(
            path: location, type: type, account: try optionalText("account"),
            content: try choice("token", "\"access\" or \"id\"") ?? .access,
            allowsAnyFolder: try flag("allowsAnyFolder") ?? false)
    }
}
