import CommandLineKit

extension OptionSpec {
    /// The options that every command takes, in the order of help.
    static let globals: [OptionSpec] = [
        .value("settings", "FILE", "settings to use, JSON or property list", completion: .file),
        .value("account", "NAME", "account to act for", completion: .account),
        .value("type", "TYPE", "account type to act for", completion: .type),
        .value("store", "DIR", "folder that keeps the accounts", completion: .folder),
        .value(
            "output", short: "o", "FORMAT", "format of the answer: " + OptionSpec.list(OutputFormat.names),
            is: .choice(OutputFormat.names), completion: .format),
        .flag("quiet", "say nothing but the answer and errors"),
        .flag("verbose", "say what is done"),
        .flag("debug", "say how it is done, secrets masked"),
        .flag("no-color", "no colour, no bold"),
        .flag("no-input", "never ask; fail where a question would be needed"),
        .flag("no-pager", "show long tables without LODGE_PAGER or PAGER"),
        .value(
            "timeout", "SECONDS", "give up after this long", is: .seconds(0.001...86_400)),
        .value("ca-file", "FILE", "certificate authorities to trust, PEM", completion: .file),
        .flag("help", short: "h", "show help and stop", environment: .none),
    ]
}

extension CompletionKind {
    /// The labels of accounts.
    static let account = CompletionKind.names("account")
    /// The names of account types.
    static let type = CompletionKind.names("type")
    /// The names of presets of account types.
    static let preset = CompletionKind.names("preset")
    /// The names of the directory's properties.
    static let field = CompletionKind.list("field")
}
