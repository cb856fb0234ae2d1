enum TerminalInput: Hashable, Sendable {
    case key(Key)
    /// A reply to a query: the characters between the introducer and the terminator, such as `?62;4c` or `Gi=31;OK`.
    case report(TerminalReport)
}

enum TerminalReport: Hashable, Sendable {
    /// A control sequence (CSI): its parameters and its final character.
    case control(String, Character)
    /// An application program command (APC), the form of replies in kitty's graphics protocol.
    case application(String)
}

/// Parses the bytes of a terminal into keys. It has no clock: the caller reports when no more bytes arrive.
///
/// ncurses would treat a reply of the terminal as typed letters and split graphemes.
///
/// See [ECMA-48](https://ecma-international.org/publications-and-standards/standards/ecma-48/) and [xterm's control
/// sequences](https://invisible-island.net/xterm/ctlseqs/ctlseqs.html).
struct TerminalKeys: Sendable {
    /// The maximum length of one paste in bytes. The rest is ignored.
    static let maximumPaste = 16 * 1024

    /// The bytes of an incomplete sequence.
    private var pending: [UInt8] = []
    /// The text pasted so far, or `nil` outside of a paste.
    private var pasted: [UInt8]?

    /// Whether an incomplete sequence waits for its rest.
    var isWaiting: Bool { !pending.isEmpty }
    /// Whether a paste has started and not ended.
    var isPasting: Bool { pasted != nil }

    /// Returns the keys in these bytes. Saves an incomplete sequence at the end for the next call.
    mutating func take(_ bytes: some Sequence<UInt8>) -> [TerminalInput] {
        pending += bytes
        return readPending(isEnd: false)
    }

    /// Parses the saved bytes as they are, because no more follow. A single escape is the Escape key.
    mutating func flush() -> [TerminalInput] {
        var inputs = readPending(isEnd: true)
        if pending.isEmpty, let text = pasted {
            // The end of the paste was lost.
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

    /// Handles bytes of a paste. Returns `nil` if it needs more bytes.
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
                // This may be the beginning of the end marker.
                if !isEnd, Self.pasteEnd.starts(with: rest[index...]) { break }
            }
            if text.count < Self.maximumPaste { text.append(rest[index]) }
            index += 1
        }
        pasted = text
        let count = index - rest.startIndex
        return count == 0 ? nil : count
    }

    /// Returns the text without control characters. Line ends and tabs become spaces.
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

    /// Returns the text up to the next control character. Leaves an incomplete scalar, unless `isEnd` is true.
    private static func text(_ rest: ArraySlice<UInt8>, isEnd: Bool) -> (String, Int) {
        let end = rest.firstIndex { $0 < 0x20 || $0 == 0x7F } ?? rest.endIndex
        var run = rest[..<end]
        if end == rest.endIndex, !isEnd { run = run.dropLast(incompleteCount(run)) }
        return (String(decoding: run, as: UTF8.self), run.count)
    }

    /// Returns the number of bytes of an incomplete scalar at the end.
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
        // NUL is Ctrl-Space; 1 is Ctrl-A.
        case 0: .control(" ")
        default: .control(Character(Unicode.Scalar(byte < 0x1B ? byte + 0x60 : byte + 0x40)))
        }
    }
}
