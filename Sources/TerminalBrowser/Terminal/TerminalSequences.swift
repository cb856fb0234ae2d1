// Escape sequences.
extension TerminalKeys {
    enum Meaning: Hashable {
        case input(TerminalInput)
        case pasteBegins
        /// A sequence without a meaning here.
        case nothing
    }

    /// Returns the meaning and length of the sequence at the start of these bytes, or `nil` if it is incomplete.
    static func sequence(_ bytes: ArraySlice<UInt8>, isEnd: Bool) -> (Meaning, Int)? {
        let escape = (Meaning.input(.key(.escape)), 1)
        guard bytes.count > 1 else { return isEnd ? escape : nil }
        switch bytes[bytes.startIndex + 1] {
        case UInt8(ascii: "["): return controlSequence(bytes, isEnd: isEnd)
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return isEnd ? escape : nil }
            return (key(bytes[bytes.startIndex + 2], parameters: "").map { .input(.key($0)) } ?? .nothing, 3)
        case UInt8(ascii: "_"), UInt8(ascii: "P"), UInt8(ascii: "]"), UInt8(ascii: "^"), UInt8(ascii: "X"):
            return text(bytes, isEnd: isEnd)
        // The Escape key, followed by another key.
        default: return escape
        }
    }

    /// Parses a CSI sequence: parameters, then a final character.
    private static func controlSequence(_ bytes: ArraySlice<UInt8>, isEnd: Bool) -> (Meaning, Int)? {
        let body = bytes.dropFirst(2)
        guard let end = body.firstIndex(where: { !(0x20..<0x40).contains($0) }),
            body.distance(from: body.startIndex, to: end) < 256
        else {
            if isEnd || body.count >= 256 { return (.input(.key(.escape)), 1) }
            return nil
        }
        let length = bytes.distance(from: bytes.startIndex, to: end) + 1
        let final = body[end]
        // Another control character interrupts the sequence and is a separate key.
        guard (0x40..<0x7F).contains(final) else { return (.nothing, length - 1) }
        let parameters = String(decoding: body[..<end], as: UTF8.self)
        if final == UInt8(ascii: "~"), parameters == "200" { return (.pasteBegins, length) }
        if let key = key(final, parameters: parameters) { return (.input(.key(key)), length) }
        if parameters.hasPrefix("?") || final == UInt8(ascii: "t") {
            return (.input(.report(.control(parameters, Character(Unicode.Scalar(final))))), length)
        }
        return (.nothing, length)
    }

    /// Parses an APC, DCS or OSC string, which ends with ST or BEL.
    private static func text(_ bytes: ArraySlice<UInt8>, isEnd: Bool) -> (Meaning, Int)? {
        let body = bytes.dropFirst(2)
        var index = body.startIndex
        while index < body.endIndex {
            let byte = body[index]
            let isString = byte == 0x1B && index + 1 < body.endIndex && body[index + 1] == UInt8(ascii: "\\")
            if isString || byte == 0x07 {
                let text = String(decoding: body[..<index], as: UTF8.self)
                let length = bytes.distance(from: bytes.startIndex, to: index) + (isString ? 2 : 1)
                let isCommand = bytes[bytes.startIndex + 1] == UInt8(ascii: "_")
                return (isCommand ? .input(.report(.application(text))) : .nothing, length)
            }
            // Another control character: the escape was a key, followed by another key.
            if byte < 0x20, byte != 0x1B || index + 1 < body.endIndex { break }
            index += 1
        }
        return isEnd || index < body.endIndex || body.count >= 4096 ? (.input(.key(.escape)), 1) : nil
    }

    /// Returns the key for a final character. Ignores Shift, Alt and Control.
    private static func key(_ final: UInt8, parameters: String) -> Key? {
        switch Character(Unicode.Scalar(final)) {
        case "A", "a": return .up
        case "B", "b": return .down
        case "C": return .right
        case "D": return .left
        case "H": return .home
        case "F": return .end
        case "Z": return .backTab
        case "M" where parameters.isEmpty: return .enter
        case "c" where parameters.isEmpty: return .right
        case "d" where parameters.isEmpty: return .left
        case "~":
            switch parameters.prefix(while: { $0 != ";" }) {
            case "1", "7": return .home
            case "3": return .delete
            case "4", "8": return .end
            case "5": return .pageUp
            case "6": return .pageDown
            default: return nil
            }
        default: return nil
        }
    }
}
