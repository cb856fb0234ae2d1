import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// An object in an account file, with its location for messages.
struct AccountFileObject {
    let source: String
    let location: String
    let json: JSONObject

    init(_ value: JSONValue?, source: String, location: String) throws(AccountFileError) {
        guard let json = value?.object else {
            throw AccountFileError(
                source: source, location: location.isEmpty ? nil : location, expected: "an object",
                found: value?.kind ?? "nothing")
        }
        (self.source, self.location, self.json) = (source, location, json)
    }

    /// The value of a member, or `nil` if it is missing or null.
    subscript(name: String) -> JSONValue? {
        guard let value = json[name], !value.isNull else { return nil }
        return value
    }

    func object(_ name: String) throws(AccountFileError) -> AccountFileObject {
        try AccountFileObject(json[name], source: source, location: path(name))
    }

    func error(_ name: String, expected: String, found: String? = nil) -> AccountFileError {
        AccountFileError(
            source: source, location: path(name), expected: expected,
            found: found ?? json[name]?.kind ?? "nothing")
    }

    private func path(_ name: String) -> String { location.isEmpty ? name : "\(location).\(name)" }

    /// Returns a string, or `nil` if it is missing, null or empty.
    func text(_ name: String) throws(AccountFileError) -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.string else { throw error(name, expected: "a string") }
        return text.isEmpty ? nil : text
    }

    func requiredText(_ name: String, _ expected: String) throws(AccountFileError) -> String {
        guard let text = try text(name) else { throw error(name, expected: expected, found: "nothing") }
        return text
    }

    /// Returns a token, which must be valid in header fields and forms, or `nil` if it is missing.
    func secret(_ name: String) throws(AccountFileError) -> Secret? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw error(name, expected: "a token", found: "a string with characters that no token has")
        }
        let maximum = AccountFile.maximumTokenSize
        guard text.utf8.count <= maximum else {
            throw error(name, expected: "a token of at most \(maximum) bytes", found: "one of \(text.utf8.count)")
        }
        return Secret(text)
    }

    /// Returns a number of seconds, which can be a string as in MSAL's cache, or `nil` if it is missing.
    func seconds(_ name: String) throws(AccountFileError) -> Double? {
        guard let value = self[name] else { return nil }
        let number = value.number?.double ?? value.string.flatMap(Double.init)
        guard let number, number.isFinite, abs(number) < 1e12 else {
            throw error(name, expected: "a number of seconds")
        }
        return number
    }

    /// Returns a time in seconds since 1970 or as RFC 3339 text, or `nil` if it is missing.
    func date(_ name: String) throws(AccountFileError) -> Date? {
        if let text = json[name]?.string, Double(text) == nil {
            guard let date = try? Date(text, strategy: .iso8601) else {
                throw error(name, expected: "seconds since 1970 or a time of RFC 3339", found: "another string")
            }
            return date
        }
        return try seconds(name).map(Date.init(timeIntervalSince1970:))
    }

    /// Returns a scope from a string or a list of strings. It is empty if the member is missing.
    func scope(_ name: String) throws(AccountFileError) -> Scope {
        guard let value = self[name] else { return [] }
        if let text = value.string { return Scope(parsing: text) }
        guard let list = value.array, case let texts = list.compactMap(\.string), texts.count == list.count else {
            throw error(name, expected: "a string or a list of strings")
        }
        return Scope(texts)
    }

    /// Returns the app's own data in the encoding of a record.
    func userData() -> Data? { self["userData"].map { Data(JSONValue.array([$0]).serialized()) } }

    /// Returns the tokens of these members. The access token or the refresh token is required.
    func tokens(
        access: String, refresh: String, idToken: Secret?, type: String, received: Date? = nil, lifetime: Double? = nil
    ) throws(AccountFileError) -> TokenSet {
        let accessToken = try secret(access), refreshToken = try secret(refresh)
        guard accessToken != nil || refreshToken != nil else {
            throw error(access, expected: "a token", found: "nothing")
        }
        return TokenSet(
            access: accessToken, refresh: refreshToken, idToken: idToken, scope: try scope("scope"),
            type: try text(type), received: received, lifetime: lifetime)
    }
}
