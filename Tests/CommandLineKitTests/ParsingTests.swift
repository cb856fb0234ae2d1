import LodgePlatform
import Testing

@testable import CommandLineKit

@Suite struct ParsingTests {
    @Test(arguments: [
        "search ada --output json", "search ada --output=json", "search ada -o json", "search ada -ojson",
        "-o json search ada", "--output json search ada", "search -ojson ada", "search --output json -- ada",
        "--output=json search -- ada",
    ])
    func `an option can be anywhere and has four spellings`(line: String) throws {
        let invocation = try parsed(line)
        #expect(invocation.action == .run)
        #expect(invocation.path == ["search"])
        #expect(invocation.string("output") == "json")
        #expect(invocation[StandardOptions(program: "lodge").output] == .json)
        #expect(invocation.arguments("TEXT") == ["ada"])
    }

    @Test(arguments: [
        ("--limit 5 search ada", "search"), ("--surname search search ada", "search"), ("login --device", "sign-in"),
        ("--device sign-in", "sign-in"), ("accounts", "accounts list"), ("accounts list", "accounts list"),
        ("accounts --quiet", "accounts list"), ("accounts -f rename a b", "accounts rename"),
        ("-f accounts rename a b", "accounts rename"), ("logout", "sign-out"), ("config path", "config path"),
        ("--account list accounts list", "accounts list"),
    ])
    func `a command is found by name or alias at any position`(line: String, path: String) throws {
        #expect(try parsed(line).path.joined(separator: " ") == path)
    }

    @Test func `two dashes end the options`() throws {
        let invocation = try parsed("exec --quiet -- curl --header -o x --")
        #expect(invocation.arguments("CMD") == ["curl", "--header", "-o", "x", "--"])
        #expect(invocation.flag("quiet"))
        #expect(try parsed("search -- --limit").arguments("TEXT") == ["--limit"])
        #expect(try parsed("search -- search").arguments("TEXT") == ["search"])
        #expect(try parsed("search -").arguments("TEXT") == ["-"])
    }

    @Test func `values are passed unchanged`() throws {
        #expect(try parsed("search --filter=a=b").string("filter") == "a=b")
        #expect(try parsed("search --filter=-x").string("filter") == "-x")
        #expect(try parsed("search --search=").string("search")?.isEmpty == true)
        let spaced = try sample.parse(arguments: ["search", "--surname", "O'Brien 李", ""], environment: [:])
        #expect(spaced.string("surname") == "O'Brien 李")
        #expect(spaced.arguments("TEXT") == [""])
    }

    @Test func `short flags can be combined, and the last may have a value`() throws {
        let invocation = try parsed("sign-in -dsopenid -s email -dojson")
        #expect(invocation.flag("device"))
        #expect(invocation.strings("scope") == ["openid", "email"])
        #expect(invocation.string("output") == "json")
    }

    @Test func `typed options return typed values`() throws {
        let invocation = try parsed("search --limit 50 --timeout 2.5")
        #expect(invocation.integer("limit") == 50)
        #expect(invocation.duration("timeout") == .milliseconds(2500))
        #expect(invocation.integer("page-size") == nil)
        #expect(!invocation.flag("any"))
        #expect(try parsed("show ada").argument("USER") == "ada")
        #expect(try parsed("sign-in").argument("TYPE") == nil)
    }

    @Test func `two options that cannot be combined are an error`() throws {
        let (all, limit) = (Option.flag("all", ""), Option.integer("limit", "N", "", in: 1...9))
        #expect(try parsed("search --all").prefers(all, over: limit))
        #expect(try !parsed("search").prefers(all, over: limit))
        #expect(throws: CommandError.self) { try parsed("search --all --limit 3").prefers(all, over: limit) }
    }

    @Test func `a command may replace a global option`() throws {
        #expect(try parsed("request GET /me --output photo.jpg").string("output") == "photo.jpg")
        #expect(try parsed("request GET /me", ["LODGE_OUTPUT": "json"]).string("output") == nil)
        #expect(usageError("request GET /me -ojson")?.message == "unknown option -o")
    }

    @Test(
        arguments: [
            ("serach ada", #"unknown command "serach""#, "did you mean lodge search?", "lodge help"),
            ("lgoin", #"unknown command "lgoin""#, "did you mean lodge login?", "lodge help"),
            ("acc", #"unknown command "acc""#, "did you mean lodge accounts?", "lodge help"),
            ("xyzzy", #"unknown command "xyzzy""#, nil, "lodge help"),
            ("Search", #"unknown command "Search""#, "did you mean lodge search?", "lodge help"),
            (
                "accounts lsit", #"unknown command "lsit""#, "did you mean lodge accounts list?",
                "lodge help accounts"
            ),
            (
                "accounts zzz", #"unknown command "zzz""#, "lodge accounts has list or rename",
                "lodge help accounts"
            ),
            ("config", "config needs a command", "it has get or path", "lodge help config"),
            (
                "accounts --setings x", "unknown option --setings", "did you mean --settings?",
                "lodge help accounts"
            ),
            ("--acount x search ada", "unknown option --acount", "did you mean --account?", "lodge help"),
            ("search --ouput json", "unknown option --ouput", "did you mean --output?", "lodge help search"),
            ("search --sur x", "unknown option --sur", "did you mean --surname?", "lodge help search"),
            ("search --zzzzzzz", "unknown option --zzzzzzz", nil, "lodge help search"),
            ("search -x", "unknown option -x", "write -- before words that begin with a dash", "lodge help search"),
            ("me --limit=secret", "unknown option --limit", nil, "lodge help me"),
            ("me --tokn=secret", "unknown option --tokn", nil, "lodge help me"),
            ("search --quiet=secret", "--quiet takes no value", "it is a flag", "lodge help search"),
            ("sign-in -d=secret", "-d takes no value", "it is a flag", "lodge help sign-in"),
            (
                "search --limit", "--limit needs a value", "write --limit N, or --limit=VALUE if it begins with a dash",
                "lodge help search"
            ),
            (
                "search ada -o", "-o needs a value", "write -o FORMAT, or -oVALUE if it begins with a dash",
                "lodge help search"
            ),
            (
                "search --filter --any", "--filter needs a value",
                "write --filter FILTER, or --filter=VALUE if it begins with a dash", "lodge help search"
            ),
            (
                "search --filter -- x", "--filter needs a value",
                "write --filter FILTER, or --filter=VALUE if it begins with a dash", "lodge help search"
            ),
            ("search --limit 1 --limit 2", "--limit is given twice", "it takes one value", "lodge help search"),
            ("-o json search --output json", "--output is given twice", "it takes one value", "lodge help search"),
            (
                "search --output xml", #"--output cannot be "xml""#,
                "expected table, json, jsonl, csv, tsv, vcard, mutt or aerc",
                "lodge help search"
            ),
            (
                "search --output jsno", #"--output cannot be "jsno""#,
                "expected table, json, jsonl, csv, tsv, vcard, mutt or aerc, perhaps json",
                "lodge help search"
            ),
            ("search --surname=", #"--surname cannot be """#, "the value is empty", "lodge help search"),
            ("show", "USER is missing", "id, UPN or mail of the user", "lodge help show"),
            ("exec", "CMD is missing", "command to run", "lodge help exec"),
            ("me too", #"unexpected argument "too""#, "me takes none", "lodge help me"),
            (
                "show a b", #"unexpected argument "b""#, "show takes one; quote it if it has spaces",
                "lodge help show"
            ),
            (
                "accounts rename a b c", #"unexpected argument "c""#, "accounts rename takes 2",
                "lodge help accounts rename"
            ),
            ("--quiet", "no command", "an option requires a command", "lodge help"),
            ("--verison", "unknown option --verison", "did you mean --version?", "lodge help"),
            ("-- search", "no command", "an option requires a command", "lodge help"),
            (
                "help enviroment", #"unknown command "enviroment""#, "did you mean lodge help environment?",
                "lodge help"
            ),
            ("version", #"unknown command "version""#, "did you mean lodge --version?", "lodge help"),
            ("help serach", #"unknown command "serach""#, "did you mean lodge search?", "lodge help"),
            ("help search ada", #"unexpected argument "ada""#, "help on search is one page", "lodge help search"),
            (
                "help accounts list x", #"unexpected argument "x""#, "help on accounts list is one page",
                "lodge help accounts list"
            ),
            (
                "help environment x", #"unexpected argument "x""#, "help on environment is one page",
                "lodge help environment"
            ),
            ("search --version", "unknown option --version", nil, "lodge help search"),
        ] as [(String, String, String?, String)])
    func `a usage error names the mistake, a suggestion and the help command`(
        line: String, message: String, reason: String?, hint: String
    ) throws {
        let error = try #require(usageError(line))
        #expect(error.message == message)
        #expect(error.reason == reason)
        #expect(error.hint == hint)
        #expect(!"\(error)".contains("secret"))
    }

    @Test(arguments: [
        "0", "1000000000", "x", "5x", "+5", "0x10", "５", "-5", "99999999999999999999999", "1e3", " 5", "-",
    ])
    func `an integer option rejects invalid and out-of-range numbers`(text: String) {
        #expect(throws: UsageError.self) {
            try sample.parse(arguments: ["search", "--limit", text], environment: [:])
        }
    }

    @Test(arguments: ["0", "-1", "nan", "inf", "0x1p3", "1e3", "30s", ".", "1.2.3", "86401"])
    func `a duration option rejects invalid and out-of-range numbers`(text: String) {
        #expect(throws: UsageError.self) {
            try sample.parse(arguments: ["me", "--timeout=" + text], environment: [:])
        }
    }

    @Test func `errors shorten words and escape control characters`() throws {
        let word = "\u{1B}[2J" + String(repeating: "x", count: 100_000)
        let command = #expect(throws: UsageError.self) { try sample.parse(arguments: [word], environment: [:]) }
        let option = #expect(throws: UsageError.self) {
            try sample.parse(arguments: ["me", "--" + word], environment: [:])
        }
        for error in [command, option] {
            let message = try #require(error?.message)
            #expect(message.contains(#"\u{1B}"#) && !message.contains("\u{1B}"))
            #expect(message.count < 80)
        }
    }

    @Test func `a variable sets a global option, and the option takes precedence`() throws {
        let environment = [
            "LODGE_OUTPUT": "json", "LODGE_TIMEOUT": "7", "LODGE_QUIET": "1", "LODGE_DEBUG": "no", "LODGE_ACCOUNT": "",
        ]
        let search = try parsed("search ada --timeout 3", environment)
        #expect(search.string("output") == "json")
        #expect(search.source(of: "output") == .environment("LODGE_OUTPUT"))
        #expect(search.duration("timeout") == .seconds(3))
        #expect(search.source(of: "timeout") == .option)
        #expect(search.flag("quiet"))
        #expect(!search.flag("debug"))
        #expect(search.string("account") == nil)
    }

    @Test func `the options of a command have no variables`() throws {
        let environment = [
            "LODGE_LIMIT": "7", "LODGE_NAME": "ada", "LODGE_OFFICE": "12", "LODGE_ANY": "1", "LODGE_ALL": "1",
            "LODGE_SCOPE": "openid", "LODGE_FIELDS": "mail",
        ]
        for line in ["search ada", "sign-out", "sign-in", "request GET /me"] {
            #expect(try parsed(line, environment) == parsed(line), "\(line)")
        }
        #expect(
            sample.variables.map(\.name).contains("LODGE_OUTPUT")
                && !sample.variables.map(\.name).contains("LODGE_HELP"))
    }

    @Test func `an error in a variable names the variable`() {
        #expect(usageError("me", ["LODGE_OUTPUT": "xml"])?.message == #"LODGE_OUTPUT cannot be "xml""#)
        #expect(usageError("me", ["LODGE_QUIET": "maybe"])?.reason == "expected 1 or 0, true or false")
        #expect(usageError("me --output table", ["LODGE_OUTPUT": "xml"]) == nil)
        #expect(usageError("me", ["LODGE_LIMIT": "xml"]) == nil)
    }

    @Test(arguments: [
        ("", []), ("--help", []), ("-h", []), ("help", []), ("help search", ["search"]), ("search --help", ["search"]),
        ("search -h ada --bogus", ["search"]), ("--help search", ["search"]), ("search --filter -h", ["search"]),
        ("accounts --help", ["accounts"]), ("accounts rename -h", ["accounts", "rename"]),
        ("help accounts rename", ["accounts", "rename"]), ("help login", ["sign-in"]), ("help --help", ["help"]),
        ("help -o json", []), ("help --output json search", ["search"]), ("help search -ojson", ["search"]),
        ("-o json help search", ["search"]), ("help search --limit 5", ["search"]),
        ("show --help", ["show"]), ("sign-in -dh", ["sign-in"]), ("config -h", ["config"]),
    ])
    func `--help is recognized at any position`(line: String, path: [String]) throws {
        #expect(try parsed(line).action == .help(.command(path)))
    }

    @Test func `--help after -- is an argument, and help has a page on the global options`() throws {
        #expect(try parsed("exec -- ls --help").action == .run)
        #expect(try parsed("help options").action == .help(.page("options")))
        #expect(throws: UsageError.self) { try parsed("bogus --help") }
    }

    @Test func `--version works without a command`() throws {
        #expect(try parsed("--version").action == .version)
        #expect(try parsed("--version --no-color").action == .version)
    }

    @Test func `--output json is detected even if the command line is invalid`() {
        func wants(_ line: String, _ environment: [String: String] = [:]) -> Bool {
            sample.prefersJSON(arguments: line.split(separator: " ").map(String.init), environment: environment)
        }
        #expect(wants("serach -o json"))
        #expect(wants("serach -ojson"))
        #expect(wants("--output json --bogus"))
        #expect(wants("--output=json"))
        #expect(wants("bogus", ["LODGE_OUTPUT": "json"]))
        #expect(!wants("search json"))
        #expect(!wants("search -- -ojson"))
    }

    @Test(arguments: [
        ("search", "serach", 1), ("search", "search", 0), ("ca", "abc", 3), ("", "abc", 3), ("abc", "", 3),
        ("ab", "ba", 1), ("kitten", "sitting", 3), ("output", "ouptut", 1), ("a", "b", 1),
    ])
    func `a transposition counts as one edit`(left: String, right: String, distance: Int) {
        #expect(SpellingSuggestion.distance(Array(left.unicodeScalars), Array(right.unicodeScalars)) == distance)
    }

    @Test func `any words are parsed or produce an error with a hint`() {
        let words = [
            "search", "accounts", "list", "help", "--", "-", "", "-o", "-ojson", "--output", "=", "--=", "--output=",
            "-=",
            "--limit", "-5", "5", "-d", "-s", "--scope", "ada", "--help=x", "exec", "\u{301}", "-\u{301}", "--quiet",
        ]
        var state: UInt64 = 42
        for _ in 0..<5000 {
            let line = (0..<5).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return words[Int(state >> 33) % words.count]
            }
            do throws(UsageError) {
                let invocation = try sample.parse(arguments: line, environment: [:])
                #expect(invocation.action != .run || !invocation.path.isEmpty)
            } catch {
                #expect(!error.message.isEmpty && error.hint.hasPrefix("lodge help"))
            }
        }
    }

    @Test func `descriptions contain no values`() throws {
        let invocation = try parsed("request POST https://x --data secret")
        var dumped = ""
        dump(invocation, to: &dumped)
        dump(invocation.values, to: &dumped)
        #expect(!(dumped + "\(invocation)" + String(reflecting: invocation.values)).contains("secret"))
        #expect("\(invocation)" == "lodge request --data")
        let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
        let message = try #require(usageError("me " + token)?.message)
        #expect(message == #"unexpected argument "ghp_0123456789abcdefghi…""#)
    }

    @Test func `problems() finds invalid declarations`() {
        #expect(sample.problems().isEmpty)
        let unsound = CommandSyntax(
            root: CommandSpec(
                "x", "No sentence",
                subcommands: [
                    CommandSpec(
                        "a", "A.",
                        arguments: [ArgumentSpec("A", "a", optional: true, variadic: true), ArgumentSpec("B", "b")],
                        options: [.flag("f", "f."), .flag("f", "f"), .value("output", "FILE", "f")]),
                    CommandSpec("b", aliases: ["a"], "B.", defaultSubcommand: "c"),
                ]), globalOptions: sampleOptions)
        #expect(unsound.problems().count == 7)
    }
}
