@testable import CommandLineKit
import LodgePlatform
@testable import TerminalBrowser

let terminalReaders = [
    FuzzReader(
        "keys",
        [
            .init("", "a"), .init("", "\u{1B}"), .init("", "\u{1B}_"), .init("", "\u{1B}["), .init("\u{1B}_", "a"),
            .init("\u{1B}[200~", "a"), .init("\u{1B}[200~", "\u{1B}[20"), .init("", "\u{1B}]a"), .init("", "\u{1B}[1;"),
            .init("", "\u{301}"), .init("", "\u{1B}P\u{1B}"),
        ], readKeys),
    FuzzReader(
        "text",
        [
            .init("a", "\u{301}"), .init("", "a"), .init("", "\u{1B}"), .init("", "\u{1F468}\u{200D}"), .init("", "a "),
            .init("", "\u{1F3F4}\u{E0067}"), .init("", "\u{4E2D}"), .init("", "\n"), .init("", ","),
            .init("a", "\u{200D}"),
            .init("", "\u{1F1E6}"), .init("", "\""), .init("", "\u{FE0F}"), .init("", "\u{202E}"),
            .init("", "\u{0915}\u{094D}"),
            .init("", "\u{1100}"), .init("", "\t"),
        ], readText),
]

private func readKeys(_ bytes: [UInt8]) {
    func inputs(_ pieces: Int) -> [TerminalInput] {
        var keys = TerminalKeys()
        var inputs: [TerminalInput] = []
        for piece in 0..<pieces {
            inputs += keys.take(bytes[(bytes.count * piece / pieces)..<(bytes.count * (piece + 1) / pieces)])
        }
        inputs += keys.flush()
        require(!keys.isWaiting, "no bytes wait after the end")
        return inputs
    }
    let whole = inputs(1)
    for case .key(.paste(let text)) in whole {
        require(text.utf8.count <= 3 * TerminalKeys.maximumPaste, "a paste has a limit")
        require(text.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "a paste has no controls")
    }
    require(!whole.contains(.key(.character("\u{1B}"))), "an escape is not a letter")
    _ = inputs(max(1, bytes.count / 4096))
}

private func isHarmless(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0x200E...0x200F: false
        default: true
        }
    }
}

private func readText(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let visible = text.visible
    require(isHarmless(visible), "visible text does not control a terminal")
    let width = TerminalText.width(visible)
    require(width <= 2 * visible.unicodeScalars.count, "a character has at most two columns")
    for columns in [1, 8, 80] {
        require(TerminalText.width(TerminalText.truncated(visible, to: columns)) <= columns, "a truncated text fits")
    }
    for line in TerminalText.wrapped(visible, to: 20, limit: 6) {
        require(TerminalText.width(line) <= 20, "a wrapped line fits")
    }
    let cell = TerminalText.cell(text)
    require(cell.unicodeScalars.count <= TerminalText.maximumCell && isHarmless(cell), "a cell has a limit")
    var card = VCard(name: text)
    card.add("EMAIL", text)
    card.givenName = text
    for line in card.text.utf8.split(separator: 0x0A) {
        require(line.count <= 76 && line.last == 0x0D, "a line of a card has 75 bytes")
    }
    var lines = TerminalText.Lines()
    let shown = lines.take(Data(bytes))
    let isText = String(validating: bytes, as: UTF8.self) != nil && !bytes.contains(0)
    require(!isText || shown != nil, "text is shown as lines")
    for line in (shown ?? []) + [lines.rest() ?? ""] {
        require(isHarmless(line.filter { $0 != "\t" }), "a line is harmless")
    }
    if !isText || !text.utf8.contains(0) {
        let quoted = "\"" + text.replacingBytes("\"", with: "\"\"") + "\""
        require(quoted.utf8.count { $0 == 0x22 } % 2 == 0, "each quote of a cell is doubled")
    }
    _ = MatchHighlighter("a b").parted(TerminalText.cell(text))
}
