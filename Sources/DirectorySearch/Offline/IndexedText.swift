import StrictJSON

/// The texts of a person that are found by their words: one value a column of the index `words`.
struct IndexedText: Equatable {
    var displayName: String
    var givenName: String
    var surname: String
    /// What stands before the `@` of mail address and sign-in name. What stands after it is the same for everybody.
    var address: String

    init(_ person: JSONObject) {
        displayName = Self.text(person["displayName"])
        givenName = Self.text(person["givenName"])
        surname = Self.text(person["surname"])
        let mail = Self.localPart(Self.text(person["mail"]))
        let name = Self.localPart(Self.text(person["userPrincipalName"]))
        address = mail == name || name.isEmpty ? mail : mail.isEmpty ? name : "\(mail) \(name)"
    }

    var values: [String] { [displayName, givenName, surname, address] }
    var isEmpty: Bool { values.allSatisfy(\.isEmpty) }

    /// What stands before the first `@`; the whole text when there is none.
    static func localPart(_ text: String) -> String { String(text.prefix { $0 != "@" }) }

    /// The longest text that goes into the index, in characters.
    private static let maximumLength = 1000

    private static func text(_ value: JSONValue?) -> String {
        guard let text = value?.string else { return "" }
        return String(text.prefix(maximumLength))
    }
}

/// Questions in the language of FTS5.
enum FullText {
    enum Column: String {
        case displayName, givenName, surname, address
    }

    /// People with a column, or any column, in which this text stands.
    ///
    /// - Parameters:
    ///   - isPrefix: whether the text's last word may be the beginning of one.
    ///   - isFirst: whether it must stand at the beginning.
    /// - Returns: nil when the text has no letter and no digit: then the index knows nothing of it.
    static func phrase(_ text: String, in column: Column? = nil, isPrefix: Bool, isFirst: Bool) -> String? {
        guard text.unicodeScalars.contains(where: isPartOfWord) else { return nil }
        var phrase = column.map { "{\($0.rawValue)} : " } ?? ""
        if isFirst { phrase += "^ " }
        // A quote would end the phrase, and a NUL the question.
        phrase += "\"" + String(String.UnicodeScalarView(text.unicodeScalars.map { isHarmless($0) ? $0 : " " })) + "\""
        // A sign at the end has closed the last word, but a longer one is no mistake: people are compared again afterwards.
        return isPrefix ? phrase + " *" : phrase
    }

    private static func isHarmless(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x20 && scalar != "\"" }

    /// Whether the index takes this as a part of a word: letters, numbers and characters of private use, as FTS5's `unicode61` does.
    static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .privateUse:
            true
        default: false
        }
    }

    /// The words of what somebody typed, control characters left out; no more than ``maximumWords``.
    static func words(_ text: String) -> [String] {
        var words: [String] = []
        var word = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumLength) {
            if scalar.properties.isWhitespace || scalar.properties.generalCategory == .control {
                if !word.isEmpty { words.append(String(word)) }
                word = String.UnicodeScalarView()
            } else {
                word.append(scalar)
            }
        }
        if !word.isEmpty { words.append(String(word)) }
        return Array(words.filter { $0.unicodeScalars.contains(where: isPartOfWord) }.prefix(maximumWords))
    }

    private static let maximumWords = 16
    private static let maximumLength = 1000
}
