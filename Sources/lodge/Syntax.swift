import CommandLineKit
import LocalProvider

/// Every command of the program. Parsing, help and usage errors come from this declaration.
let commandSyntax = CommandSyntax(
    root: CommandSpec(
        "lodge", "Sign in, keep the accounts, look people up.",
        examples: ["lodge demo", "lodge sign-in graph", "lodge search ada"],
        options: [.flag("version", "show the version and stop", environment: .none)],
        subcommands: [
            signInSpec, signOutSpec, accountsSpec, statusSpec, tokenSpec, headerSpec, execSpec, meSpec, searchSpec,
            showSpec, lookupSpec, syncSpec, querySpec, browseSpec, gitCredentialSpec, requestSpec, providersSpec,
            configSpec, doctorSpec, serveSpec, demoSpec, completionSpec,
        ]), globalOptions: OptionSpec.globals, reference: .lodge)

private let signInSpec = CommandSpec(
    "sign-in", aliases: ["login"], "Sign in and keep the account.",
    discussion: """
        The browser is opened and comes back to this machine. Where there is no display, or over SSH, a code is shown that is \
        entered on another device. With --with-token a token answer (JSON, as a token endpoint gives it) is read from standard \
        input instead.
        """,
    examples: ["lodge sign-in graph", "lodge sign-in --device"],
    arguments: [ArgumentSpec("TYPE", "account type to sign in to", optional: true, completion: .type)],
    options: [
        .flag("device", "show a code to enter on another device"),
        .flag("no-browser", "print the address and wait"),
        .flag("qr", "draw the address as a QR code too"),
        .flag("paste", "print the address and read the code or address it leads to"),
        .flag("client-credentials", "sign in as the client itself, without a person"),
        .flag("with-token", "read a token answer from standard input"),
        .value(
            "username", "NAME", "sign in with the password on standard input (legacy servers)"),
        .value("scope", "SCOPE", "scope to ask for instead of the type's", repeated: true),
        .value(
            "prompt", "WORD", "login, consent, select_account, create or none", repeated: true,
            completion: .words(["login", "consent", "select_account", "create", "none"])),
        .value("login-hint", "NAME", "who is expected to sign in"),
        .value("domain-hint", "DOMAIN", "in whose directory they are"),
        .value("policy", "NAME", "policy of Azure AD B2C, by its name in the settings"),
        .value("claims", "JSON", "claims to ask for"),
        .value("param", "NAME=VALUE", "a further parameter of the request", repeated: true),
    ], formats: OutputFormat.ofSentences)

private let signOutSpec = CommandSpec(
    "sign-out", aliases: ["logout"], "Revoke an account's tokens and remove the account.",
    discussion: """
        Tokens are revoked where the provider can do that. What happened in each part is said, and an account is removed here even if the \
        provider could not be reached.
        """,
    examples: ["lodge sign-out ada@contoso.com", "lodge sign-out --all"],
    arguments: [ArgumentSpec("ACCOUNT", "account to sign out", optional: true, completion: .account)],
    options: [
        .flag("local", "only remove it here, without the network"),
        .flag(
            "browser", "end the browser's session at the provider too; on a shared device that is done anyway"),
        .flag("all", "every account", environment: .none),
    ], formats: OutputFormat.ofSentences)

private let accountsSpec = CommandSpec(
    "accounts", "List and change the kept accounts.",
    examples: ["lodge accounts", "lodge accounts use ada@contoso.com"],
    subcommands: [
        CommandSpec("list", "List the accounts; the one in use is marked.", examples: ["lodge accounts"]),
        CommandSpec(
            "show", "Show one account.", examples: ["lodge accounts show ada@contoso.com"],
            arguments: [ArgumentSpec("ACCOUNT", "name or identifier", completion: .account)]),
        CommandSpec(
            "use", "Choose the account that is used where none is named.",
            examples: ["lodge accounts use ada@contoso.com"],
            arguments: [ArgumentSpec("ACCOUNT", "name or identifier", completion: .account)],
            formats: OutputFormat.ofSentences),
        CommandSpec(
            "rename", "Give an account a name of your own; an empty one takes it away.",
            examples: ["lodge accounts rename ada@contoso.com work"],
            arguments: [
                ArgumentSpec("ACCOUNT", "name or identifier", completion: .account),
                ArgumentSpec("NAME", "name of your own, good for --account"),
            ], formats: OutputFormat.ofSentences),
        CommandSpec(
            "import", "Take accounts from a file of another program, or of an export.",
            discussion: """
                The file is a token answer, a token cache of MSAL, an archive of NXOAuth2 accounts or an export, all JSON; \
                without FILE it is read from standard input. Importing it again changes nothing, and newer tokens are kept. \
                Whom the accounts belong to is as the file says, and is not verified. An account of whom the file gives only the user \
                name becomes its person's when they sign in at the same issuer, and no other account could be meant.
                """,
            examples: [
                "lodge accounts import msal_cache.json", "lodge accounts import --type work < answer.json",
            ],
            arguments: [ArgumentSpec("FILE", "file to read", optional: true, completion: .file)]),
        CommandSpec(
            "export", "Write accounts with their tokens, for moving to another machine.",
            discussion:
                "Whoever reads the file can act as these accounts. It is made with mode 0600 and replaces no other.",
            examples: ["lodge accounts export --reveal-secrets --output-file accounts.json"],
            arguments: [ArgumentSpec("ACCOUNT", "account to export; else all", optional: true, completion: .account)],
            options: [
                .flag("reveal-secrets", "write tokens in the clear", environment: .none),
                .value("output-file", "FILE", "file to make", completion: .file),
            ], formats: OutputFormat.ofSentences),
        CommandSpec(
            "remove", "Remove an account here, without telling the provider.",
            examples: ["lodge accounts remove ada@contoso.com"],
            arguments: [ArgumentSpec("ACCOUNT", "name or identifier", completion: .account)],
            formats: OutputFormat.ofSentences),
        salvageSpec,
    ], defaultSubcommand: "list")

private let statusSpec = CommandSpec(
    "status", "Show the state of each account, and where all is kept.",
    discussion: "The exit status is 4 when an account needs a sign-in.", examples: ["lodge status"])

private let tokenSpec = CommandSpec(
    "token", "Print a fresh access token.",
    examples: ["curl -H \"Authorization: Bearer $(lodge token)\" https://api.example/"],
    options: [
        .flag("refresh", "renew it even if it is still good"),
        .flag("expires", "print when it expires instead (RFC 3339)"),
        .flag("introspect", "print what the provider says about it instead (JSON)"),
        .value("scope", "SCOPE", "what it must be good for", repeated: true),
    ], formats: OutputFormat.ofSentences)

private let meSpec = CommandSpec(
    "me", "Show the person who is signed in.", examples: ["lodge me"], formats: OutputFormat.allCases)

private let providersSpec = CommandSpec(
    "providers", "List, check, add and remove account types.",
    discussion: "Account types are those of the settings file, and presets that a type is built on.",
    examples: ["lodge providers", "lodge providers check google"],
    subcommands: [
        CommandSpec(
            "list", "List the account types of the settings, and the presets.", examples: ["lodge providers"]),
        CommandSpec(
            "show", "Show one account type or preset, and what must be filled in.",
            examples: ["lodge providers show github"],
            arguments: [ArgumentSpec("NAME", "account type or preset", completion: .type)]),
        CommandSpec(
            "check", "Ask a provider what it can do.",
            discussion: "The exit status is 1 when something is missing or wrong.",
            examples: ["lodge providers check google", "lodge providers check --issuer https://id.example"],
            arguments: [ArgumentSpec("TYPE", "account type or preset", optional: true, completion: .type)],
            options: [
                .value("issuer", "URL", "issuer to check instead of a type"),
                .value(
                    "set", "KEY=VALUE", "what a preset must know, such as tenant", repeated: true),
            ]),
        CommandSpec(
            "add", "Add an account type to the settings file.",
            discussion: """
                Comments and layout of the file stay. With --register the client is registered at the provider (RFC 7591); its \
                registration token is sealed in the store, and a client secret makes the file readable by you alone.
                """,
            examples: [
                "lodge providers add github --client-id ID",
                "lodge providers add company --issuer https://id.example --register",
            ],
            arguments: [
                ArgumentSpec("NAME", "name of the new type; that of a preset builds on it", completion: .preset)
            ],
            options: [
                .value("provider", "PRESET", "preset to build on", completion: .preset),
                .value(
                    "set", "KEY=VALUE", "what a preset must know, such as tenant", repeated: true),
                .value("issuer", "URL", "the provider's issuer"),
                .value("client-id", "ID", "client identifier"),
                .value(
                    "client-secret-file", "FILE", "file with the client secret", completion: .file),
                .value("client-secret-env", "NAME", "environment variable with the client secret"),
                .value("scope", "SCOPE", "scope to ask for", repeated: true),
                .value("redirect-uri", "URI", "where the browser comes back to"),
                .flag("register", "register a client at the provider"),
                .value(
                    "registration-token-file", "FILE", "file with the provider's initial access token",
                    completion: .file),
                .value("register-with", "JSON", "further members of the registration"),
            ], formats: OutputFormat.ofSentences),
        CommandSpec(
            "remove", "Remove an account type from the settings file.",
            discussion: "A client that was registered with --register is deleted at the provider (RFC 7592).",
            examples: ["lodge providers remove company"],
            arguments: [ArgumentSpec("NAME", "account type", completion: .type)],
            options: [.flag("local", "only remove it here, without the network")], formats: OutputFormat.ofSentences),
    ], defaultSubcommand: "list")

private let doctorSpec = CommandSpec(
    "doctor", "Find what keeps sign-ins from working, and what mends it.",
    discussion: """
        Settings, proxy, store, key, locks, sign-ins, the redirect's port, network, discovery and clock are looked at; where the \
        settings are missing or wrong, the rest. Nothing is changed and nothing secret is sent. The exit status is 0 when only warnings are found, else that of the worst finding.
        """,
    examples: ["lodge doctor", "lodge doctor --output json"],
    options: [.flag("offline", "leave the network alone")])

private let serveSpec = CommandSpec(
    "serve", "Run a local provider and directory, for trying things out.",
    discussion:
        "It listens on loopback only and ends with Ctrl-C. InjectedErrors: \(InjectedErrors.Name.all.map(\.rawValue).joined(separator: ", ")).",
    examples: [
        "lodge serve --port 8765", "lodge serve --fault token-503:2",
        "lodge serve --fault directory-429=2.5:3",
    ],
    options: [
        .value("port", "PORT", "port on 127.0.0.1 (a free one)", is: .integer(0...65_535)),
        .value("users", "N", "people in the directory (300)", is: .integer(1...1_000_000)),
        .value("port-file", "FILE", "write the port to this file", completion: .file),
        .value(
            "token-lifetime", "SECONDS", "life of an access token (3600)", is: .seconds(1...86_400)),
        .value(
            "fault", "NAME[=VALUE][:COUNT]", "a fault to play", repeated: true,
            completion: .words(InjectedErrors.Name.all.map(\.rawValue))),
        .value(
            "quota", "N", "resource units an application may use in 10 seconds (no limit)", is: .integer(1...1_000_000)),
        .flag("log", "print each request"),
    ], formats: OutputFormat.ofSentences)

private let demoSpec = CommandSpec(
    "demo", "Show the whole story on a local provider; no set-up needed.",
    discussion: """
        Starts a provider on loopback, signs in, searches, lets the token expire, opens the store anew and signs out. Everything \
        it makes is removed again.
        """, examples: ["lodge demo"], formats: OutputFormat.ofSentences)
