import HTTPTransport
import OAuth2
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What of a message is secret, and what stands in its place in a recording.
enum Masking {
    /// In the place of a secret. It is a token's text, so that a recorded token answer can be read.
    static let mask = "masked"

    /// Header fields whose values are never kept.
    private static let fields: Set<String> = [
        "authorization", "proxy-authorization", "dpop", "cookie", "set-cookie", "dpop-nonce", "x-api-key",
        "authentication-info", "x-ms-client-principal",
    ]
    /// Names of members of JSON, and of parameters, whose values are never kept, without punctuation.
    private static let members: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "token", "codeverifier", "clientsecret", "secret", "password",
        "assertion", "clientassertion", "devicecode", "usercode", "verificationuricomplete", "idtokenhint",
        "registrationaccesstoken", "subjecttoken", "actortoken", "apikey", "clientinfo", "samlresponse",
        "authorization", "cookie", "dpop",
    ]
    /// Those of parameters alone: in an answer a `code` is that of an error, and a `state` a part of an address.
    private static let parameters: Set<String> = [
        "code", "state", "nonce", "key", "signature", "sig", "sessionstate", "request", "loginhint",
    ]

    private static func plain(_ name: String) -> String {
        String(name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != "." })
    }

    private static func isSecretParameter(_ name: String) -> Bool {
        members.contains(plain(name)) || parameters.contains(plain(name))
    }

    static func masked(_ all: HTTPFields) -> HTTPFields {
        var result = HTTPFields()
        for field in all {
            let name = field.name.lowercased()
            var value = field.value
            if fields.contains(name) { value = mask }
            if name == "location" || name == "content-location", let url = URL(string: value) { value = masked(url) }
            result.append(name: field.name, value: value)
        }
        return result
    }

    /// The address with the secret parameters of its query masked, and without a fragment, in which tokens may stand.
    static func masked(_ url: URL) -> String {
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let mark = text.firstIndex(of: "?") else { return String(text) }
        return text[...mark] + masked(form: text[text.index(after: mark)...])
    }

    /// A form with its secret values masked; everything else stays byte for byte.
    static func masked(form: some StringProtocol) -> String {
        form.split(separator: "&", omittingEmptySubsequences: false).map { pair -> String in
            let name = pair.prefix { $0 != "=" }
            let decoded = FormEncoding.decode(name)?.first?.name ?? String(name)
            return isSecretParameter(decoded) && name.count < pair.count ? "\(name)=\(mask)" : String(pair)
        }.joined(separator: "&")
    }

    /// The token of a request, which an answer may repeat.
    static func token(of request: HTTPRequest) -> String? {
        guard let value = request.fields["Authorization"] else { return nil }
        let token = value.split(separator: " ").last.map(String.init) ?? ""
        return token.utf8.count >= 8 ? token : nil
    }

    /// The content of a message as it is kept.
    ///
    /// - Parameter token: masked wherever it stands.
    static func masked(_ body: Data, type: String?, token: String? = nil) -> Data {
        var body = body
        if let token, let text = String(validating: body, as: UTF8.self), text.contains(token) {
            body = Data(text.replacing(token, with: mask).utf8)
        }
        let type = type.map { $0.prefix { $0 != ";" }.lowercased() } ?? ""
        if type.contains("form-urlencoded"), let text = String(validating: body, as: UTF8.self) {
            return Data(masked(form: text).utf8)
        }
        // Whatever its type says: a token answer is one by its members.
        guard let value = try? JSONValue(parsing: body) else { return body }
        let result = masked(value)
        return result == value ? body : Data(result.serialized())
    }

    private static func masked(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(masked))
        case .object(let object):
            return .object(
                JSONObject(
                    object.members.map { member in
                        if members.contains(plain(member.name)), case .string = member.value {
                            return .init(name: member.name, value: .string(mask))
                        }
                        return .init(name: member.name, value: masked(member.value))
                    }))
        default: return value
        }
    }
}
