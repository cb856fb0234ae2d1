import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The redaction of secrets in messages.
enum Redaction {
    /// The replacement of a secret. It is a valid token, so that a recorded token response is readable.
    static let mask = "masked"

    static func masked(_ all: HTTPFields) -> HTTPFields {
        var result = HTTPFields()
        for field in all {
            let name = field.name.lowercased()
            var value = field.value
            if SecretNames.hasField(name) { value = mask }
            if name == "location" || name == "content-location" { value = masked(address: value) }
            result.append(name: field.name, value: value)
        }
        return result
    }

    /// Returns the URL with masked secret parameters, and without the fragment, which can contain tokens.
    static func masked(_ url: URL) -> String { masked(address: url.absoluteString) }

    private static func masked(address: String) -> String {
        let text = address.prefix { $0 != "#" }
        guard let mark = text.firstIndex(of: "?") else { return String(text) }
        return text[...mark] + masked(form: text[text.index(after: mark)...])
    }

    /// Returns a form with masked secret values; all other bytes stay unchanged.
    static func masked(form: some StringProtocol) -> String {
        form.split(separator: "&", omittingEmptySubsequences: false).map { pair -> String in
            let name = pair.prefix { $0 != "=" }
            return SecretNames.hasParameter(decoded(name)) && name.count < pair.count
                ? "\(name)=\(mask)" : String(pair)
        }.joined(separator: "&")
    }

    private static func decoded(_ name: some StringProtocol) -> String {
        FormEncoding.decode(name)?.first?.name ?? String(name)
    }

    /// Returns the token of a request, which a response may repeat.
    static func token(of request: HTTPRequest) -> String? {
        guard let value = request.fields["Authorization"] else { return nil }
        let token = value.split(separator: " ").last.map(String.init) ?? ""
        return token.utf8.count >= 8 ? token : nil
    }

    /// Returns the content of a message with masked secrets.
    ///
    /// - Parameter token: A token to mask anywhere in the content.
    static func masked(_ body: Data, type whole: String?, token: String? = nil) -> Data {
        var body = body
        if let token, let text = String(validating: body, as: UTF8.self) {
            body = Data(text.replacingBytes(token, with: mask).utf8)
        }
        let type = whole.map { $0.prefix { $0 != ";" }.lowercased() } ?? ""
        if let whole, type.hasPrefix("multipart/") { return masked(parts: body, type: whole) }
        if type.contains("form-urlencoded"), let text = String(validating: body, as: UTF8.self) {
            return Data(masked(form: text).utf8)
        }
        // Ignore the type: the members identify a token response.
        guard let value = try? JSONValue(parsing: body) else {
            guard let text = String(validating: body, as: UTF8.self), isForm(text) else { return body }
            return Data(masked(form: text).utf8)
        }
        let result = masked(value)
        return result == value ? body : Data(result.serialized())
    }

    /// Returns whether text is a form with a secret: some services send it as plain text or HTML.
    private static func isForm(_ text: String) -> Bool {
        var text = text[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "<") }) else { return false }
        return text.split(separator: "&").contains { SecretNames.isListed(decoded($0.prefix { $0 != "=" })) }
    }

    /// Returns a form with files, each part masked by its name and type. A malformed form is masked completely.
    ///
    /// [RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)
    private static func masked(parts body: Data, type: String) -> Data {
        guard !body.isEmpty else { return body }
        guard let boundary = parameter("boundary", of: type), !boundary.isEmpty else { return Data(mask.utf8) }
        let line = Data("--\(boundary)".utf8)
        let separators = body.ranges(of: line)
        guard let first = separators.first, first.lowerBound == body.startIndex else { return Data(mask.utf8) }
        var result = Data()
        for (index, separator) in separators.enumerated() {
            result += line
            let end = index + 1 < separators.count ? separators[index + 1].lowerBound : body.endIndex
            let part = body[separator.upperBound..<end]
            guard let gap = part.firstRange(of: Data("\r\n\r\n".utf8)) else {
                result += part
                continue
            }
            let content = part[gap.upperBound...]
            // The line break before the next boundary belongs to the boundary.
            let tail = content.suffix(2) == Data("\r\n".utf8) ? 2 : 0
            result += part[..<gap.upperBound]
            result += masked(part: Data(content.dropLast(tail)), head: Data(part[..<gap.lowerBound]))
            result += content.suffix(tail)
        }
        return result
    }

    private static func masked(part: Data, head: Data) -> Data {
        var name: String?
        var type: String?
        for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let value = line.drop { $0 != ":" }.dropFirst()
            switch line.prefix(while: { $0 != ":" }).lowercased() {
            case "content-disposition": name = parameter("name", of: String(value))
            case "content-type":
                type = String(value.drop { $0 == " " })
            default: break
            }
        }
        if let name, SecretNames.hasParameter(name) { return Data(mask.utf8) }
        return masked(part, type: type)
    }

    /// Returns a parameter of a field such as `form-data; name="a"`.
    private static func parameter(_ name: String, of value: String) -> String? {
        for piece in value.split(separator: ";").dropFirst() {
            let pair = piece.drop { $0 == " " }
            guard pair.lowercased().hasPrefix(name + "=") else { continue }
            var text = pair.dropFirst(name.count + 1)
            while text.last == " " { text.removeLast() }
            guard text.first == "\"" else { return String(text) }
            return String(text.dropFirst().prefix { $0 != "\"" })
        }
        return nil
    }

    private static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(masked))
        case .object(let object):
            return .object(
                JSONObject(
                    object.members.map { member in
                        let isSecret = SecretNames.hasMember(member.name)
                        return .init(
                            name: member.name, value: isSecret ? hidden(member.value) : masked(member.value))
                    }))
        default: return value
        }
    }

    /// Returns the shape of a secret value: masks all parts except null, true and false.
    private static func hidden(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(hidden))
        case .object(let object):
            .object(JSONObject(object.members.map { .init(name: $0.name, value: hidden($0.value)) }))
        case .string, .number: .string(mask)
        default: value
        }
    }
}
