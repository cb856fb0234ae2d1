import CommandLineKit

// The commands for scripts and shells.

private let scopeOption = OptionSpec.value("scope", "SCOPE", "what the token must be good for", repeated: true)
private let refreshOption = OptionSpec.flag("refresh", "renew it even if it is still good")

let headerSpec = CommandSpec(
    "header", "Print an Authorization header with a fresh access token.",
    discussion:
        "Hand it to a program by a file or a pipe: what stands on a command line can be read by everybody on the machine.",
    examples: ["lodge header | curl -H @- https://graph.microsoft.com/v1.0/me"],
    options: [refreshOption, scopeOption], formats: OutputFormat.ofSentences)

let execSpec = CommandSpec(
    "exec", "Run a program with a fresh access token in its environment.",
    discussion: """
        The token is in OAUTH2_ACCESS_TOKEN, the time at which it expires (RFC 3339, where known) in OAUTH2_ACCESS_TOKEN_EXPIRY. \
        The program takes the place of this one, so its exit status is the one that is seen; 127 where there is no such program, 126 \
        where it cannot be run.
        """,
    examples: ["lodge exec -- python3 report.py"],
    arguments: [ArgumentSpec("COMMAND", "program and its arguments, after --", variadic: true, completion: .file)],
    options: [refreshOption, scopeOption], formats: OutputFormat.ofSentences)

let gitCredentialSpec = CommandSpec(
    "git-credential", "Give git the token of an account, as a credential helper.",
    discussion: """
        Git asks by itself, once it is told to: the account types of the settings answer for the host of their issuer or endpoints, \
        and for their resourceHosts. Nothing is answered for plain http but on this machine. What git wants to store is ignored; what it \
        found useless is renewed the next time. A user name that git was given chooses the account of this name; one that no account has \
        gets the account in use, unless it is an address or the name of an account for another host: then nothing is answered.
        """,
    examples: ["git config credential.helper '!lodge git-credential'"],
    subcommands: [
        CommandSpec(
            "get", "Answer git's question.", examples: ["lodge git-credential get"],
            formats: OutputFormat.ofSentences),
        CommandSpec(
            "store", "Do nothing: accounts are kept already.", examples: ["lodge git-credential store"],
            formats: OutputFormat.ofSentences),
        CommandSpec(
            "erase", "Renew a token that did not work.", examples: ["lodge git-credential erase"],
            formats: OutputFormat.ofSentences),
    ])

let completionSpec = CommandSpec(
    "completion", "Print the script that completes the words in a shell.",
    examples: ["source <(lodge completion bash)", "lodge completion fish | source"],
    arguments: [
        ArgumentSpec("SHELL", "bash, zsh or fish", completion: .words(CompletionScript.allCases.map(\.rawValue)))
    ], formats: OutputFormat.ofSentences)
