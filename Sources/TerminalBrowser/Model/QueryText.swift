/// The text of the query line and its cursor, edited by graphemes.
struct QueryText: Hashable, Sendable {
    /// The maximum length in bytes. No name is longer, and a service would reject it.
    static let maximumBytes = 256

    /// The typed text, unchanged.
    private(set) var text: String
    /// The number of graphemes before the cursor.
    private(set) var cursor: Int

    init(_ text: String = "") {
        self.text = ""
        cursor = 0
        insert(text)
    }

    /// The text to search for: trimmed, with single spaces.
    var searchText: String { text.split(whereSeparator: \.isWhitespace).joined(separator: " ") }

    /// Inserts a string before the cursor and returns whether some of it did not fit.
    ///
    /// Line breaks and tabs become spaces. Other control characters are dropped.
    @discardableResult mutating func insert(_ new: String) -> Bool {
        var clean = String.UnicodeScalarView()
        var room = Self.maximumBytes - text.utf8.count
        var isCut = false
        for scalar in new.unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control
            let isSpace = isControl && (scalar == "\t" || scalar == "\n" || scalar == "\r")
            if isControl && !isSpace { continue }
            room -= isSpace ? 1 : UTF8.width(scalar)
            isCut = room < 0
            guard !isCut else { break }
            clean.append(isSpace ? " " : scalar)
        }
        // A combining mark joins the letter before it, so count the graphemes in the joined text.
        let (before, after) = parts
        let start = before + String(clean)
        text = start + after
        cursor = min(start.count, text.count)
        return isCut
    }

    /// Handles a key of a line editor and returns whether some of the text did not fit. Ignores other keys.
    @discardableResult mutating func edit(_ key: Key) -> Bool {
        switch key {
        case .character(let character): return insert(String(character))
        case .paste(let text): return insert(text)
        case .left: move(by: -1)
        case .right: move(by: 1)
        case .home, .control("a"): moveToStart()
        case .end, .control("e"): moveToEnd()
        case .backspace, .control("h"): deleteBackward()
        case .delete, .control("d"): deleteForward()
        case .control("u"): deleteToStart()
        case .control("k"): deleteToEnd()
        case .control("w"): deleteWord()
        default: break
        }
        return false
    }

    mutating func deleteBackward() { deleteBefore { $0.dropLast() } }

    mutating func deleteForward() {
        let (before, after) = parts
        text = before + after.dropFirst()
        cursor = min(cursor, text.count)
    }

    /// Deletes the word before the cursor and the spaces after it.
    mutating func deleteWord() {
        deleteBefore { before in
            var rest = before[...]
            while rest.last?.isWhitespace == true { rest.removeLast() }
            while rest.last?.isWhitespace == false { rest.removeLast() }
            return rest
        }
    }

    mutating func deleteToStart() { deleteBefore { $0.prefix(0) } }

    mutating func deleteToEnd() { text = parts.before }

    /// Moves the cursor by a number of graphemes, within the text.
    mutating func move(by count: Int) { cursor = max(0, min(text.count, cursor + count)) }

    mutating func moveToStart() { cursor = 0 }

    mutating func moveToEnd() { cursor = text.count }

    private var parts: (before: String, after: String) {
        let position = text.index(text.startIndex, offsetBy: cursor, limitedBy: text.endIndex) ?? text.endIndex
        return (String(text[..<position]), String(text[position...]))
    }

    private mutating func deleteBefore(_ rest: (String) -> Substring) {
        let (before, after) = parts
        let start = String(rest(before))
        text = start + after
        cursor = min(start.count, text.count)
    }
}
