import Foundation
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser

/// Tests terminal cells and colors.
@Suite struct TerminalDrawingTests {
    /// Returns the width that the C library reports: it counts each scalar of an emoji sequence separately.
    private static func width(_ scalar: UInt32) -> Int {
        switch scalar {
        case 0x300...0x36F, 0xFE0F, 0x200D: 0
        case 0x1F1E6...0x1F1FF: 1
        case 0x1F000...0x1FAFF, 0x4E00...0x9FFF, 0xAC00...0xD7A3: 2
        default: 1
        }
    }

    private let cells = TerminalCells(isUnicode: true, width: Self.width)
    private let ascii = TerminalCells(isUnicode: false, width: Self.width)

    @Test func `ASCII text is one piece`() {
        let (pieces, end) = cells.pieces("Ada Lovelace", from: 3, limit: 80)
        #expect(pieces.map(\.column) == [3] && pieces.map(\.piece) == [.ascii("Ada Lovelace")] && end == 15)
    }

    @Test func `a wide character uses two columns and a combining mark none`() {
        let (pieces, end) = cells.pieces("a李e\u{301}b", from: 0, limit: 80)
        #expect(pieces.map(\.column) == [0, 1, 3, 4] && end == 5)
        #expect(pieces.map(\.piece) == [.ascii("a"), .cell([0x674E]), .cell([0x65, 0x301]), .ascii("b")])
    }

    @Test(arguments: ["👩‍👩‍👧", "❤️", "🇩🇪", "👍🏽", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "김", "ﷺ", "নি"])
    func `text after an emoji starts at the column of TerminalText.width, not the C library's`(_ character: String) {
        for cells in [cells, ascii] {
            let (pieces, end) = cells.pieces("x" + character + "y", from: 0, limit: 80)
            let columns = TerminalText.width(character)
            #expect(end == columns + 2)
            let last = pieces.last
            #expect(last?.piece == .ascii("y") ? last?.column == columns + 1 : "\(pieces)".contains("y"))
            // Cells or spaces fill each of its columns.
            var filled = 0
            for (_, piece) in pieces {
                switch piece {
                case .ascii(let text): filled += text.count
                case .cell(let scalars): filled += scalars.reduce(0) { $0 + max(0, Self.width($1)) }
                }
            }
            #expect(filled == columns + 2)
        }
    }

    @Test func `text is cut at the edge without splitting a character`() {
        let (pieces, end) = cells.pieces("ab李李", from: 0, limit: 5)
        #expect(end == 4 && pieces.count == 2)
    }

    @Test func `a cell holds a limited number of combining marks`() {
        let (pieces, _) = cells.pieces("a" + String(repeating: "\u{301}", count: 8), from: 0, limit: 80)
        #expect(pieces.map(\.piece) == [.cell([0x61, 0x301, 0x301, 0x301, 0x301])])
    }

    @Test func `an ASCII terminal gets ASCII replacements`() {
        let (pieces, end) = ascii.pieces("│ José 李 …", from: 0, limit: 80)
        let text = pieces.map { if case .ascii(let text) = $0.piece { text } else { "" } }.joined()
        #expect(text == "| Jos? ?  ~" && end == 11)
    }

    // MARK: Colors

    @Test func `without colors each important style differs from plain text`() {
        let plain = TerminalPalette(colors: 0)
        for style in [
            ScreenStyle.heading, .selected, .selectedElsewhere, .marked, .match, .key, .warning, .failure, .dimmed,
        ] {
            #expect(plain.appearance(style) != plain.appearance(.plain), "\(style)")
            #expect(plain.appearance(style).color == nil)
        }
        #expect(plain.appearance(.selected) != plain.appearance(.selectedElsewhere))
    }

    @Test func `with 16 colors the styles use the terminal's own colors`() {
        for hue in TerminalPalette.hues.values { #expect((1...6).contains(hue.of8)) }
        #expect(TerminalPalette(colors: 16).appearance(.failure).color == 1)
    }

    @Test func `with 256 colors each style is readable on white and black`() {
        for (style, hue) in TerminalPalette.hues {
            let luminance = Self.luminance(hue.of256)
            #expect(1.05 / (luminance + 0.05) >= 3.5, "\(style) on white")
            #expect((luminance + 0.05) / 0.05 >= 3.5, "\(style) on black")
        }
    }

    /// Returns WCAG's relative luminance of a color in xterm's color cube.
    private static func luminance(_ color: Int) -> Double {
        let steps = [0.0, 95, 135, 175, 215, 255]
        let index = color - 16
        func linear(_ step: Int) -> Double {
            let value = steps[step] / 255
            return value <= 0.04 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear(index / 36) + 0.7152 * linear(index / 6 % 6) + 0.0722 * linear(index % 6)
    }
}
