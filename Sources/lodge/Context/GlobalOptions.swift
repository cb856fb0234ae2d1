import CommandLineKit

enum GlobalOptions {
    static let settings = Option.text("settings", "FILE", "settings to use, JSON or property list", completion: .file)
    static let account = Option.text("account", "NAME", "account to use", completion: .account)
    static let type = Option.text("type", "TYPE", "account type to use", completion: .type)
    static let store = Option.text(
        "store", "DIR|URL", "folder of the accounts, or postgresql://… for several machines", completion: .folder)
    static let standard = StandardOptions(program: "lodge")
    static let timeout = Option.seconds("timeout", "SECONDS", "time limit of the command", in: 0.001...86_400)
    static let caFile = Option.text("ca-file", "FILE", "certificate authorities to trust, PEM", completion: .file)
    static let noAgent = Option.flag("no-agent", "do not use the agent")
    static let help = Option.flag("help", short: "h", "show help", environment: .none)

    static let all: [any DeclaredOption] =
        [settings, account, type, store] as [any DeclaredOption] + standard.all + [timeout, caFile, noAgent, help]
}

extension CompletionKind {
    static let account = CompletionKind.names("account")
    static let type = CompletionKind.names("type")
    static let preset = CompletionKind.names("preset")
    static let field = CompletionKind.list("field")
}
