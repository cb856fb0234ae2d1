import CommandLineKit
import LodgePlatform

package struct ScreenSize: Hashable, Sendable {
    package var columns: Int
    package var rows: Int
}

/// A position on the screen, as a column and a row from 0.
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

/// The role of a piece of text. The terminal maps it to a color, or to other attributes without color.
package enum ScreenStyle: Hashable, Sendable {
    case plain
    case heading
    /// The name of a value: `Mail`.
    case label
    /// Less important text: separators, outdated results.
    case dimmed
    case selected
    case selectedElsewhere
    case marked
    case match
    case key
    case good
    /// A warning: a countdown.
    case warning
    case failure
    case bar
    /// The text being typed.
    case input
}

package struct ScreenText: Hashable, Sendable {
    /// Visible text without control characters, as ``TerminalText`` returns it.
    package var text: String
    var style: ScreenStyle
}

package struct ScreenPicture: Hashable, Sendable {
    /// The identity of the picture, for comparison without its bytes.
    package var name: String
    /// The picture from the directory, usually a JPEG.
    package var bytes: Data
    var area: ScreenArea
}

/// The complete content of the terminal, drawn as a whole.
package struct Screen: Hashable, Sendable {
    package var size: ScreenSize
    /// The rows from the top. A row may be shorter than the screen, but never wider by ``TerminalText/width(_:)``.
    package var rows: [[ScreenText]]
    /// The position of the cursor, or `nil` if it is hidden.
    var cursor: ScreenPosition?
    /// The picture to draw over its area if the terminal supports it.
    var picture: ScreenPicture?

    package init(size: ScreenSize) {
        self.size = size
        rows = []
    }

    /// The plain text, one line for each row, without trailing spaces. For tests.
    package var text: String {
        rows.map { row in
            var line = row.map(\.text).joined()
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }.joined(separator: "\n")
    }
}
