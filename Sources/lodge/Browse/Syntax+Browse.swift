import CommandLineKit
import TerminalBrowser

// The browser in the terminal.

let browseSpec = CommandSpec(
    "browse", "Look people up while you type, in the whole terminal.",
    discussion: """
        The line on top is what is searched for, the line at the bottom names the keys, and ? shows the others. Without an account it offers \
        to sign in. Where lodge sync was done, the copy on this machine answers first, and alone with --offline.
        """,
    examples: ["lodge browse", "lodge browse ada lo", "lodge browse --offline"],
    arguments: [ArgumentSpec("TEXT", "what to search for first", optional: true, variadic: true)],
    options: [.flag("offline", "search the copy that sync keeps")], formats: OutputFormat.ofSentences)
