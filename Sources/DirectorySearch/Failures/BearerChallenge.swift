#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import StrictJSON

/// What a `WWW-Authenticate` field demands beyond a token.
enum BearerChallenge {
    /// The claims that the next sign-in has to ask for, as a JSON object; nil when none are demanded.
    ///
    /// Entra's continuous access evaluation sends them in base64; other servers of the same kind as they are.
    static func claims(in fields: [String]) -> String? {
        for field in fields where field.utf8.count <= 32768 {
            guard let value = parameter("claims", in: field), let claims = decoded(value) else { continue }
            return claims
        }
        return nil
    }

    private static func decoded(_ value: String) -> String? {
        if isObject(value) { return value }
        var text = value.map { character -> Character in
            switch character {
            case "-": "+"
            case "_": "/"
            default: character
            }
        }
        text.removeAll { $0 == "=" }
        text += Array(repeating: "=", count: (4 - text.count % 4) % 4)
        guard let bytes = Data(base64Encoded: String(text)), let json = String(validating: bytes, as: UTF8.self),
            isObject(json)
        else { return nil }
        return json
    }

    private static func isObject(_ text: String) -> Bool {
        guard let value = try? JSONValue(parsing: text) else { return false }
        return value.object != nil
    }

    /// The value of a challenge's parameter. Quoted strings are stepped over as a whole, so that what stands in one is not
    /// taken for a parameter. RFC 9110 section 11.2
    static func parameter(_ name: String, in field: String) -> String? {
        let bytes = Array(field.utf8)
        var position = 0
        var word: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                _ = quoted(bytes, &position)
                word = []
            case UInt8(ascii: "="):
                position += 1
                while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
                guard position < bytes.count else { return nil }
                let value =
                    bytes[position] == UInt8(ascii: "\"")
                    ? quoted(bytes, &position) : token(bytes, &position)
                if String(decoding: word, as: UTF8.self).lowercased() == name {
                    return String(validating: value, as: UTF8.self)
                }
                word = []
            case 0x20, 0x09:
                // White space may stand before the equals sign; before anything else it ends the word.
                var next = position
                while next < bytes.count, bytes[next] == 0x20 || bytes[next] == 0x09 { next += 1 }
                if next >= bytes.count || bytes[next] != UInt8(ascii: "=") { word = [] }
                position = next
            case UInt8(ascii: ","):
                word = []
                position += 1
            default:
                word.append(byte)
                position += 1
            }
        }
        return nil
    }

    private static func quoted(_ bytes: [UInt8], _ position: inout Int) -> [UInt8] {
        var value: [UInt8] = []
        position += 1
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            value.append(bytes[position])
            position += 1
        }
        position += 1
        return value
    }

    private static func token(_ bytes: [UInt8], _ position: inout Int) -> [UInt8] {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: ","), bytes[position] != 0x20 { position += 1 }
        return Array(bytes[start..<position])
    }
}
