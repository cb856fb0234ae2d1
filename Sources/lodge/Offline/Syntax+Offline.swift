import CommandLineKit

// The commands around the offline copy of a directory.

let syncSpec = CommandSpec(
    "sync", "Keep an offline copy of the people, for --offline.",
    discussion: """
        The first time everybody is listed, later only what changed. A sync that is stopped goes on where it was. The copy is a file that \
        only you can read, in the store's folder, in clear text: an index cannot be searched otherwise. It goes with sign-out and with \
        --forget, overwritten.
        """,
    examples: ["lodge sync", "lodge sync --properties displayName,givenName,surname,mail"],
    options: [
        .value(
            "properties", "A,B,C", "what to keep of each person; other properties than before begin a new list"),
        .flag("forget", "overwrite and remove the copy", environment: .none),
        .flag("all", "with --forget, the copies of all accounts, also of those that are gone", environment: .none),
    ], formats: OutputFormat.ofSentences)

let querySpec = CommandSpec(
    "query", "Complete addresses for a mail program.",
    discussion: """
        Mutt: set query_command = "lodge query --format mutt %s". Aerc: address-book-cmd = lodge query --format aerc %s. Both quote what \
        stands for %s: quotes of one's own would undo that. Without \
        --offline the directory is asked, and the offline copy where the directory cannot be reached.
        """,
    examples: ["lodge query ada lo", "lodge query --offline --format aerc ada"],
    arguments: [ArgumentSpec("TEXT", "beginnings of names or of an address", variadic: true)],
    options: [
        .value("format", "PROGRAM", "mutt or aerc (mutt)", is: .choice(["mutt", "aerc"])),
        .flag("offline", "answer from the offline copy"),
        .flag("upn-as-mail", "use the user principal name of who has no mail address"),
        .value(
            "limit", "N", "at most this many people (50)", is: .integer(1...1000),
            environment: .named("LODGE_QUERY_LIMIT")),
    ], formats: OutputFormat.ofSentences)
