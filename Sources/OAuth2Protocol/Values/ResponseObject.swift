import LodgePlatform
import HTTPExchange
import StrictJSON

/// A response that must be a JSON object, and readers of its members.
struct ResponseObject {
    let members: JSONObject

    /// Creates an object from the body, with any content type.
    ///
    /// - Parameters:
    ///   - name: The name of the response in errors.
    ///   - unique: The members that must not be duplicates.
    init(
        _ response: HTTPResponse, name: String = "the response", unique: Set<String> = []
    ) throws(OAuth2Error) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: response.body)
        } catch {
            throw .invalidResponse(member: "not_json", reason: "\(name) is not JSON: \(error)")
        }
        guard let object = value.object else {
            throw .invalidResponse(member: "not_object", reason: "\(name) is \(value.kind), expected an object")
        }
        try self.init(object, unique: unique)
    }

    init(_ members: JSONObject, unique: Set<String>) throws(OAuth2Error) {
        try Self.check(members, unique: unique)
        self.members = members
    }

    static func check(_ members: JSONObject, unique: Set<String>) throws(OAuth2Error) {
        for name in members.duplicatedNames where unique.contains(name) { throw error(name, "is a duplicate") }
    }

    static func error(_ member: String, _ problem: String) -> OAuth2Error {
        .invalidResponse(member: member, reason: "\(member) \(problem)")
    }

    subscript(name: String) -> JSONValue? { members[name] }

    /// Returns a string, or `nil` if it is missing, empty or not a string.
    func text(_ name: String) -> String? { members.text(name) }

    func requiredText(_ name: String) throws(OAuth2Error) -> String {
        guard let text = text(name) else { throw Self.error(name, "is missing") }
        return text
    }

    func strings(_ name: String) -> [String]? { members[name]?.array?.compactMap(\.string) }

    /// Returns a string for header fields and URLs: printable ASCII without space. `nil` if it is missing, null or empty.
    ///
    /// A space or a line break in it would allow the provider to inject header fields.
    func token(_ name: String) throws(OAuth2Error) -> Secret? {
        guard let value = members[name], !value.isNull else { return nil }
        guard let text = value.string else { throw Self.error(name, "is \(value.kind), expected a string") }
        if text.isEmpty { return nil }
        // With one contiguous buffer, the compiler can vectorize the check.
        let isPrintable = text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        guard isPrintable ?? text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.error(name, "has characters that a token cannot contain")
        }
        return Secret(text)
    }

    func requiredToken(_ name: String) throws(OAuth2Error) -> Secret {
        guard let token = try token(name) else { throw Self.error(name, "is missing") }
        return token
    }

    /// Returns an endpoint URL; `nil` if it is missing or not safe to open.
    func url(_ name: String, allowsLoopbackHTTP: Bool) -> URL? {
        text(name).flatMap { try? EndpointURL.check($0, name: name, allowsLoopbackHTTP: allowsLoopbackHTTP) }
    }

    /// Returns `expires_in`, which must be positive.
    ///
    /// - Parameter acceptsText: Whether it can be a string of digits.
    func lifetime(acceptsText: Bool = false) throws(OAuth2Error) -> Int {
        let seconds = acceptsText ? members.seconds("expires_in") : members["expires_in"]?.number?.double
        guard let seconds, seconds > 0 else {
            throw Self.error("expires_in", "is not a positive number of seconds")
        }
        return Int(min(seconds, Double(EndpointResponse.maximumLifetime)))
    }
}

extension JSONObject {
    /// Returns a number of seconds, which can also be a string of digits; `nil` for everything else.
    func seconds(_ name: String) -> Double? {
        if let number = self[name]?.number { return number.double }
        guard let text = self[name]?.string, text.utf8.count < 20, !text.isEmpty,
            text.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Double(text)
    }

    /// The seconds between polls (RFC 8628 section 3.2). A string of digits is accepted too, because the default could
    /// be faster than the provider allows. If the value is missing, null, zero or negative, the default applies, to
    /// prevent a busy loop.
    var pollingInterval: Int {
        let seconds = seconds("interval") ?? 0
        return seconds > 0 ? Int(min(seconds, 86_400).rounded(.up)) : 5
    }
}
