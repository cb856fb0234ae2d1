import StrictJSON

/// The indexed strings of a user, without case and accents: one value for each column of `words`.
struct IndexedText: Equatable {
    var displayName: String
    var givenName: String
    var surname: String
    /// The local parts of mail address and sign-in name. The domains are the same for all users.
    var address: String

    init(_ user: JSONObject) {
        displayName = Self.text(user["displayName"])
        givenName = Self.text(user["givenName"])
        surname = Self.text(user["surname"])
        let mail = Self.localPart(Self.text(user["mail"]))
        let name = Self.localPart(Self.text(user["userPrincipalName"]))
        address = mail == name || name.isEmpty ? mail : mail.isEmpty ? name : "\(mail) \(name)"
    }

    var values: [String] { [displayName, givenName, surname, address] }
    var isEmpty: Bool { values.allSatisfy(\.isEmpty) }

    /// Returns the part before the first `@`, or the whole string without one.
    static func localPart(_ text: String) -> String { String(text.prefix { $0 != "@" }) }

    /// The maximum length of an indexed string in Unicode scalars.
    private static let maximumLength = 1000

    private static func text(_ value: JSONValue?) -> String {
        guard let text = value?.string else { return "" }
        return text.clipped(to: maximumLength).foldedForSearch
    }
}

/// Queries in the language of FTS5.
enum FullText {
    enum Column: String {
        case displayName, givenName, surname, address
    }

    /// Returns the query for users with this phrase in certain columns, or in any column, without case and accents.
    ///
    /// - Parameters:
    ///   - isPrefix: Whether the last word can be the start of a longer one.
    ///   - isFirst: Whether the phrase must be at the start of the column.
    /// - Returns: `nil` for a phrase without letters and digits, which the index does not contain.
    static func phrase(_ text: String, in columns: [Column] = [], isPrefix: Bool, isFirst: Bool) -> String? {
        let text = text.foldedForSearch
        guard text.unicodeScalars.contains(where: \.isPartOfWord) else { return nil }
        var phrase = columns.isEmpty ? "" : "{\(columns.map(\.rawValue).joined(separator: " "))} : "
        if isFirst { phrase += "^ " }
        // A quote would end the phrase, and a NUL the query.
        phrase += "\"" + String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmless($0) ? $0 : " " })) + "\""
        // A character at the end completes the last word. A longer word is harmless, because the results are compared
        // again.
        return isPrefix ? phrase + " *" : phrase
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x20 && scalar != "\"" }
}
