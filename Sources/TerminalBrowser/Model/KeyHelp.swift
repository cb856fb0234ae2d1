import CommandLineKit

/// The keys, as `?` lists them.
enum KeyHelp {
    struct Entry: Sendable {
        var shown: String
        var keys: [Key]
        var words: String
    }

    /// Keys that mean something in the same place.
    struct Section: Sendable {
        var title: String
        /// The pane that they are for; nil: every one.
        var pane: BrowseModel.Pane?
        var entries: [Entry]
    }

    static let sections: [Section] = [
        Section(
            title: "In the search line", pane: .query,
            entries: [
                Entry(shown: "Down Enter", keys: [.down, .enter], words: "to the list"),
                Entry(shown: "Esc", keys: [.escape], words: "clear"),
                Entry(shown: "ctrl-a ctrl-e", keys: [.control("a"), .control("e")], words: "to the start, to the end"),
                Entry(shown: "ctrl-w", keys: [.control("w")], words: "delete the word before the cursor"),
                Entry(
                    shown: "ctrl-u ctrl-k", keys: [.control("u"), .control("k")],
                    words: "delete to the start, to the end"),
            ]),
        Section(
            title: "In the list and the detail", pane: .list,
            entries: [
                Entry(shown: "j k Up Down", keys: [.character("j"), .character("k"), .up, .down], words: "move"),
                Entry(
                    shown: "g G PgUp PgDn", keys: [.character("g"), .character("G"), .pageUp, .pageDown],
                    words: "to the start, to the end, by a page"),
                Entry(shown: "Enter", keys: [.enter], words: "to the detail"),
                Entry(shown: "Esc", keys: [.escape], words: "back"),
                Entry(shown: "/", keys: [.character("/")], words: "to the search line"),
                Entry(shown: "m", keys: [.character("m")], words: "the manager"),
                Entry(shown: "r", keys: [.character("r")], words: "those who report to the person"),
                Entry(shown: "M", keys: [.character("M")], words: "the groups of the person"),
                Entry(
                    shown: "[ ]", keys: [.character("["), .character("]")], words: "back to what was shown, and forward"
                ),
                Entry(shown: "c", keys: [.character("c")], words: "copy the mail address"),
                Entry(shown: "y", keys: [.character("y")], words: "menu of everything that can be copied"),
                Entry(shown: "space", keys: [.character(" ")], words: "mark the person"),
                Entry(shown: "p", keys: [.character("p")], words: "show or hide photos"),
                Entry(shown: "a", keys: [.character("a")], words: "accounts: switch, sign in"),
                Entry(shown: "R", keys: [.character("R")], words: "try again, read anew"),
                Entry(shown: "L", keys: [.character("L")], words: "log of the requests"),
                Entry(shown: "?", keys: [.character("?")], words: "this page"),
                Entry(shown: "q", keys: [.character("q")], words: "quit"),
            ]),
        Section(
            title: "In every pane", pane: nil,
            entries: [
                Entry(shown: "Tab", keys: [.tab, .backTab], words: "the next pane"),
                Entry(shown: "ctrl-s", keys: [.control("s")], words: "export the marked people"),
                Entry(shown: "ctrl-r", keys: [.control("r")], words: "try again, read anew"),
                Entry(shown: "ctrl-l", keys: [.control("l")], words: "draw the screen anew"),
                Entry(shown: "ctrl-z", keys: [.control("z")], words: "stop for now; fg comes back"),
                Entry(shown: "ctrl-c", keys: [.control("c")], words: "quit"),
            ]),
    ]

    /// The column that words begin at, and the fewest columns that they are worth it for: on less they go below their keys.
    private static let wordsColumn = 18
    private static let fewestForWords = 16

    /// The page on a screen of so many columns. No word is cut: what has no room goes on below.
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
