import LodgePlatform
import HTTPExchange
import StrictJSON

/// One challenge of a `WWW-Authenticate` field.
///
/// [RFC 9110 section 11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1),
/// [RFC 6750 section 3](https://www.rfc-editor.org/rfc/rfc6750#section-3)
package struct AuthenticationChallenge: Sendable, Equatable {
    /// The maximum size of the field values in bytes.
    package static let maximumSize = 64 * 1024

    /// The scheme in lower case: `bearer`, `dpop`, `basic`.
    package let scheme: String
    /// The parameters; names in lower case. Duplicates are omitted.
    package internal(set) var parameters: [String: String] = [:]
    /// The data of schemes that have no parameters, such as `negotiate`.
    package internal(set) var token68: String?

    init(scheme: String) { self.scheme = scheme }

    /// Returns the challenges of a response, in order. A malformed field counts as absent, and so do fields of more than
    /// ``maximumSize``.
    package static func challenges(in fields: HTTPFields) -> [AuthenticationChallenge] {
        let values = fields.values(for: "WWW-Authenticate")
        guard values.reduce(0, { $0 + $1.utf8.count }) <= maximumSize else { return [] }
        // A list can continue in the next field (RFC 9110 section 5.2), so read the fields as one list first.
        return challenges(in: values.joined(separator: ", ")) ?? values.flatMap { challenges(in: $0) ?? [] }
    }

    private static func challenges(in list: String) -> [AuthenticationChallenge]? {
        var reader = ChallengeReader(bytes: Array(list.utf8))
        return reader.challenges()
    }

    /// The claims that the next sign-in must request, as a JSON object; `nil` if the server requires no claims.
    ///
    /// Entra's continuous access evaluation sends them in base64; similar servers send them unencoded.
    package var claims: String? {
        guard let value = parameters["claims"] else { return nil }
        if Self.isObject(value) { return value }
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
            Self.isObject(json)
        else { return nil }
        return json
    }

    private static func isObject(_ text: String) -> Bool { (try? JSONValue(parsing: text))?.object != nil }

    /// Returns the error in the challenge, or `nil` if it contains no error.
    func error(status: Int) -> ProviderError? {
        guard let code = parameters["error"], !code.isEmpty else { return nil }
        var error = ProviderError(
            code: ErrorCode(rawValue: code), explanation: parameters["error_description"],
            uri: parameters["error_uri"], status: status)
        error.claims = claims
        return error
    }
}

/// Reads a list of challenges in one pass.
private struct ChallengeReader {
    let bytes: [UInt8]
    var index = 0
    var found: [AuthenticationChallenge] = []
    var repeated: Set<String> = []

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Returns the challenges; `nil` if the text is not a list of challenges.
    mutating func challenges() -> [AuthenticationChallenge]? {
        skip(" \t,")
        while index < bytes.count {
            guard let name = token() else { return nil }
            let afterName = index
            skip(" \t")
            if peek == UInt8(ascii: "="), !found.isEmpty {
                guard parameter(name) else { return nil }
            } else {
                repeated = []
                found.append(AuthenticationChallenge(scheme: name.lowercased()))
                if index > afterName, peek != nil, peek != UInt8(ascii: ",") {
                    guard schemeContent() else { return nil }
                }
            }
            skip(" \t")
            guard peek == nil || peek == UInt8(ascii: ",") else { return nil }
            skip(" \t,")
        }
        return found
    }

    private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skip(_ set: String) {
        while let byte = peek, set.utf8.contains(byte) { index += 1 }
    }

    private mutating func token() -> String? {
        let start = index
        while let byte = peek, Self.isTokenByte(byte) { index += 1 }
        return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
    }

    /// Reads the data after a scheme, or the first parameter.
    private mutating func schemeContent() -> Bool {
        let start = index
        while let byte = peek, Self.isToken68Byte(byte) { index += 1 }
        let hasContent = index > start
        while peek == UInt8(ascii: "=") { index += 1 }
        let end = index
        skip(" \t")
        if hasContent, peek == nil || peek == UInt8(ascii: ",") {
            found[found.count - 1].token68 = String(decoding: bytes[start..<end], as: UTF8.self)
            return true
        }
        index = start
        guard let name = token() else { return false }
        skip(" \t")
        return parameter(name)
    }

    /// Reads `= value` and adds it to the last challenge.
    private mutating func parameter(_ name: String) -> Bool {
        guard peek == UInt8(ascii: "=") else { return false }
        index += 1
        skip(" \t")
        guard let value = peek == UInt8(ascii: "\"") ? quotedString() : token() else { return false }
        let name = name.lowercased()
        let last = found.count - 1
        if found[last].parameters[name] != nil || repeated.contains(name) {
            repeated.insert(name)
            found[last].parameters[name] = nil
        } else {
            found[last].parameters[name] = value
        }
        return true
    }

    private mutating func quotedString() -> String? {
        index += 1
        var text: [UInt8] = []
        while let byte = peek {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = peek else { return nil }
                index += 1
                text.append(escaped)
            default: text.append(byte)
            }
        }
        return nil
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        isLetterOrDigit(byte) || "-._~+/".utf8.contains(byte)
    }
}
