import CommandLineKit

enum KeyHelp {
    typealias Entry = (shown: String, keys: [Key], words: String)

    /// Keys that apply to the same pane.
    struct Section: Sendable {
        var title: String
        /// The pane in which the keys work, or `nil` for every pane.
        var pane: BrowseModel.Pane?
        var entries: [Entry]
    }

    static let sections: [Section] = [
        Section(
            title: "In the search line", pane: .query,
            entries: [
                (
                    "Up Down", [.up, .down, .control("n"), .control("p"), .pageUp, .pageDown],
                    "move in the list; also ctrl-p ctrl-n PgUp PgDn"
                ),
                ("Enter", [.enter], "to the list (picker: choose)"),
                ("Esc", [.escape], "clear"),
                ("ctrl-a ctrl-e", [.control("a"), .control("e")], "to the start, to the end"),
                ("ctrl-w", [.control("w")], "delete the word before the cursor"),
                ("ctrl-u ctrl-k", [.control("u"), .control("k")], "delete to the start, to the end"),
            ]),
        Section(
            title: "In the list and the detail", pane: .list,
            entries: [
                ("j k Up Down", [.character("j"), .character("k"), .up, .down], "move"),
                (
                    "g G PgUp PgDn", [.character("g"), .character("G"), .pageUp, .pageDown],
                    "to the start, to the end, by a page"
                ),
                ("Enter", [.enter], "to the detail (picker: choose)"),
                ("Esc", [.escape], "back"),
                ("/", [.character("/")], "to the search line"),
                ("m", [.character("m")], "the manager"),
                ("r", [.character("r")], "the direct reports"),
                ("M", [.character("M")], "the groups"),
                ("[ ]", [.character("["), .character("]")], "go back and forward"),
                ("c", [.character("c")], "copy the mail address"),
                ("y", [.character("y")], "menu of everything that can be copied"),
                ("space", [.character(" ")], "mark the user"),
                ("p", [.character("p")], "show or hide photos"),
                ("a", [.character("a")], "accounts: switch, sign in"),
                ("R", [.character("R")], "try again, reload"),
                ("L", [.character("L")], "log of the requests"),
                ("?", [.character("?")], "this page"),
                ("q", [.character("q")], "quit"),
            ]),
        Section(
            title: "In every pane", pane: nil,
            entries: [
                ("Tab", [.tab, .backTab], "the next pane"),
                ("ctrl-s", [.control("s")], "export the marked users to a file"),
                ("ctrl-r", [.control("r")], "try again, reload"),
                ("ctrl-l", [.control("l")], "redraw the screen"),
                ("ctrl-z", [.control("z")], "suspend; fg resumes"),
                ("ctrl-c", [.control("c")], "quit"),
            ]),
    ]

    /// The column in which descriptions start, and their minimum width. On a narrower screen they are below the keys.
    private static let wordsColumn = 18
    private static let fewestForWords = 16

    /// Returns the help page for the given width. Long lines wrap at words.
    static func lines(_ columns: Int) -> [ScreenLine] {
        var lines: [ScreenLine] = []
        let isBeside = columns >= wordsColumn + fewestForWords
        let start = isBeside ? wordsColumn : 4
        for section in sections {
            if !lines.isEmpty { lines.append(ScreenLine(columns: columns)) }
            lines += TerminalText.wrapped(section.title, to: columns).map { ScreenLine($0, .heading, columns: columns) }
            for entry in section.entries {
                var line = ScreenLine(columns: columns)
                line.add("  ")
                line.add(entry.shown, .key)
                if !isBeside {
                    lines.append(line)
                    line = ScreenLine(columns: columns)
                }
                for part in TerminalText.wrapped(entry.words, to: columns - start) {
                    line.fill(to: start)
                    line.add(part)
                    lines.append(line)
                    line = ScreenLine(columns: columns)
                }
            }
        }
        return lines
    }
}
