/// A parser for the Directory API's `query`: clauses such as `givenName:Ada*`, `familyName='O\'Brien'` and
/// `isSuspended=false`, separated by spaces, which must all match.
enum GoogleQuery {
    /// Returns the filter of a query, or `nil` if it is malformed or names an unknown field.
    static func filter(_ text: String) -> ODataFilter? {
        var rest = Substring(text)
        var found: ODataFilter?
        var clauses = 0
        while true {
            rest = rest.drop { $0 == " " }
            guard !rest.isEmpty else { return found }
            clauses += 1
            guard clauses <= 50, let clause = clause(&rest) else { return nil }
            found = found.map { .and($0, clause) } ?? clause
        }
    }

    private static func clause(_ rest: inout Substring) -> ODataFilter? {
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "." || $0 == "_") }
        let after = rest[name.endIndex...]
        guard !name.isEmpty, let sign = after.first, sign == ":" || sign == "=" else {
            // Without a field, search names and addresses.
            guard let value = value(&rest) else { return nil }
            return condition([.givenName, .surname, .mail, .userPrincipalName], value, isWord: true)
        }
        rest = after.dropFirst()
        guard let value = value(&rest) else { return nil }
        switch name.lowercased() {
        case "issuspended": return Bool(value.text).map { .compare(.init(property: .accountEnabled), .eq, .bool(!$0)) }
        case "isadmin", "isdelegatedadmin", "isenrolledin2sv":
            let never = ODataFilter.compare(.init(property: .id), .eq, .null)
            return Bool(value.text).map { $0 ? never : .not(never) }
        case "phone":
            let operand = ODataFilter.Operand(property: .businessPhones, isAnyElement: true)
            return .any(
                .businessPhones,
                value.isPrefix ? .startsWith(operand, value.text) : .compare(operand, .eq, .string(value.text)))
        case let field:
            return fields[field].flatMap { condition($0, value, isWord: sign == ":" && field != "email") }
        }
    }

    private static let fields: [String: [UserProperty]] = [
        "name": [.displayName, .surname], "email": [.userPrincipalName, .mail], "givenname": [.givenName],
        "familyname": [.surname], "orgtitle": [.jobTitle], "orgdepartment": [.department], "orgname": [.companyName],
        "externalid": [.employeeId], "addresslocality": [.city], "addresscountry": [.usageLocation],
    ]

    /// Returns a condition that at least one of the properties must match.
    private static func condition(_ properties: [UserProperty], _ value: Value, isWord: Bool) -> ODataFilter? {
        let conditions = properties.map { property -> ODataFilter in
            let operand = ODataFilter.Operand(property: property)
            let text = value.text
            if value.isPrefix { return .startsWith(operand, text) }
            let isEqual = ODataFilter.compare(operand, .eq, .string(text))
            guard isWord else { return isEqual }
            // A word, or several consecutive words.
            let isInside = ODataFilter.or(.endsWith(operand, " " + text), .contains(operand, " \(text) "))
            return .or(isEqual, .or(.startsWith(operand, text + " "), isInside))
        }
        return conditions.dropFirst().reduce(conditions.first) { all, next in all.map { .or($0, next) } }
    }

    private struct Value {
        var text: String
        var isPrefix: Bool
    }

    /// Reads a quoted or unquoted value.
    private static func value(_ rest: inout Substring) -> Value? {
        let text: String
        if let quote = rest.first, quote == "'" || quote == "\"" {
            guard let content = rest.removeQuotedString(quote) else { return nil }
            text = content
        } else {
            let word = rest.prefix { $0 != " " && $0 != "*" }
            rest = rest[word.endIndex...]
            text = String(word)
        }
        let isPrefix = rest.first == "*"
        if isPrefix { rest = rest.dropFirst() }
        guard rest.isEmpty || rest.first == " ", !text.isEmpty else { return nil }
        return Value(text: text, isPrefix: isPrefix)
    }
}
