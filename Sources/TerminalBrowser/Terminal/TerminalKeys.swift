enum TerminalInput: Hashable, Sendable {
    case key(Key)
    /// An answer to a question of ours: the letters between the introducer and the end, such as `?62;4c` or `Gi=31;OK`.
    case report(TerminalReport)
}

enum TerminalReport: Hashable, Sendable {
    /// To a control sequence (CSI): its parameters, and its last letter.
    case control(String, Character)
    /// An application's command (APC), as the graphics protocol of kitty answers.
    case application(String)
}

/// Makes keys of the bytes that a terminal sends. A value without time: whoever has it says when no more bytes come for now.
///
/// ncurses could do this too, but would take an answer of the terminal for typed letters, and give a grapheme in pieces.
///
/// [ECMA-48](https://ecma-international.org/publications-and-standards/standards/ecma-48/),
/// [xterm's control sequences](https://invisible-island.net/xterm/ctlseqs/ctlseqs.html)
struct TerminalKeys: Sendable {
    /// The longest text that is taken from one paste, in bytes; the rest is passed over.
    static let maximumPaste = 16 * 1024

    /// Bytes that are the beginning of something.
    private var pending: [UInt8] = []
    /// What was pasted so far; nil outside of a paste.
    private var pasted: [UInt8]?

    /// Whether bytes wait for those that belong to them.
    var isWaiting: Bool { !pending.isEmpty }
    /// Whether the end of a paste is waited for.
    var isPasting: Bool { pasted != nil }

    /// The keys in these bytes. The beginning of a key at their end is kept.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [TerminalInput] {
        pending += bytes
        return readPending(isEnd: false)
    }

    /// No more bytes come for now: what was kept is what it looks like. An escape alone is the key.
    mutating func flush() -> [TerminalInput] {
        var inputs = readPending(isEnd: true)
        if pending.isEmpty, let text = pasted {
            // The end of the paste got lost.
            pasted = nil
            inputs += Self.paste(text)
        }
        return inputs
    }

    private mutating func readPending(isEnd: Bool) -> [TerminalInput] {
        var inputs: [TerminalInput] = []
        var position = 0
        while position < pending.count {
            let rest = pending[position...]
            if pasted != nil {
                guard let count = takePasted(rest, isEnd, &inputs) else { break }
                position += count
            } else if rest.first == 0x1B {
                guard let (input, count) = Self.sequence(rest, isEnd: isEnd) else { break }
                position += count
                switch input {
                case .pasteBegins: pasted = []
                case .input(let input): inputs.append(input)
                case .nothing: break
                }
            } else if let byte = rest.first, byte < 0x20 || byte == 0x7F {
                inputs.append(.key(Self.control(byte)))
                position += 1
            } else {
                let (text, count) = Self.text(rest, isEnd: isEnd)
                if count == 0 { break }
                inputs += text.map { .key(.character($0)) }
                position += count
            }
        }
        pending.removeFirst(position)
        return inputs
    }

    // MARK: Pasted text

    private static let pasteEnd = Array("\u{1B}[201~".utf8)

    /// Takes bytes of a paste; nil when more are needed to tell.
    private mutating func takePasted(_ rest: ArraySlice<UInt8>, _ isEnd: Bool, _ inputs: inout [TerminalInput]) -> Int?
    {
        var text = pasted ?? []
        var index = rest.startIndex
        while index < rest.endIndex {
            if rest[index] == 0x1B {
                if rest[index...].starts(with: Self.pasteEnd) {
                    pasted = nil
                    inputs += Self.paste(text)
                    return index - rest.startIndex + Self.pasteEnd.count
                }
                // Perhaps the beginning of the end.
                if !isEnd, Self.pasteEnd.starts(with: rest[index...]) { break }
            }
            if text.count < Self.maximumPaste { text.append(rest[index]) }
            index += 1
        }
        pasted = text
        let count = index - rest.startIndex
        return count == 0 ? nil : count
    }

    /// The text without its control characters: a line end and a tab are a space, the others nothing.
    private static func paste(_ bytes: [UInt8]) -> [TerminalInput] {
        let text = String(decoding: bytes, as: UTF8.self)
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: cleaned.append(" ")
            case 0..<0x20, 0x7F..<0xA0: break
            default: cleaned.append(scalar)
            }
        }
        return cleaned.isEmpty ? [] : [.key(.paste(String(cleaned)))]
    }

    // MARK: Text

    /// The letters up to the next control character. A letter that is not complete is left, unless no more comes.
    private static func text(_ rest: ArraySlice<UInt8>, isEnd: Bool) -> (String, Int) {
        let end = rest.firstIndex { $0 < 0x20 || $0 == 0x7F } ?? rest.endIndex
        var run = rest[..<end]
        if end == rest.endIndex, !isEnd { run = run.dropLast(incompleteCount(run)) }
        return (String(decoding: run, as: UTF8.self), run.count)
    }

    /// How many bytes at the end are the beginning of a scalar.
    private static func incompleteCount(_ bytes: ArraySlice<UInt8>) -> Int {
        for (distance, byte) in bytes.suffix(4).reversed().enumerated() {
            if byte & 0xC0 == 0x80 { continue }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
            return length > distance + 1 ? distance + 1 : 0
        }
        return 0
    }

    private static func control(_ byte: UInt8) -> Key {
        switch byte {
        case 0x09: .tab
        case 0x0A, 0x0D: .enter
        case 0x08, 0x7F: .backspace
        case 0x1B: .escape
        // NUL is ctrl-space; 1 is ctrl-a.
        case 0: .control(" ")
        default: .control(Character(Unicode.Scalar(byte < 0x1B ? byte + 0x60 : byte + 0x40)))
        }
    }
}
