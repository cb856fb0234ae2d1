import CommandLineKit
import Platform

package struct ScreenSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int
}

/// The column and the row of a character, from 0.
package struct ScreenPosition: Hashable, Sendable {
    var column: Int
    var row: Int
}

package struct ScreenArea: Hashable, Sendable {
    /// The first column, from 0.
    var column: Int
    /// The first row, from 0.
    package var row: Int
    package var columns: Int
    package var rows: Int
}

/// What a piece of text means. The terminal chooses colours for it, or other attributes where it has none.
package enum ScreenStyle: Hashable, Sendable {
    case plain
    case heading
    /// What names a value: `Mail`.
    case label
    /// What is there and matters less: separators, an answer that is being replaced.
    case dimmed
    case selected
    case selectedElsewhere
    case marked
    case match
    case key
    case good
    /// Something to know before going on: a countdown.
    case warning
    case failure
    case bar
    /// The text that is being typed.
    case input
}

package struct ScreenText: Hashable, Sendable {
    /// Visible text, as ``TerminalText`` makes it: no control characters.
    package var text: String
    var style: ScreenStyle
}

package struct ScreenPicture: Hashable, Sendable {
    /// Tells one picture from another without comparing them.
    package var name: String
    /// The picture as the directory gave it: JPEG nearly always.
    package var bytes: Data
    var area: ScreenArea
}

/// What the terminal is to show: one value, drawn as a whole.
package struct Screen: Hashable, Sendable {
    package var size: ScreenSize
    /// The rows from the top, each from the left. A row may be shorter than the screen, never wider by ``TerminalText/width(_:)``.
    package var rows: [[ScreenText]]
    /// Where the cursor blinks; nil: nowhere.
    var cursor: ScreenPosition?
    /// The picture that is drawn over its area, if the terminal can.
    var picture: ScreenPicture?

    package init(size: ScreenSize) {
        self.size = size
        rows = []
    }

    /// The text alone, a line a row, without trailing spaces: what a test compares.
    package var text: String {
        rows.map { row in
            var line = row.map(\.text).joined()
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}
