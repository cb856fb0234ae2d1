/// A reader of the Directory API's `query`: clauses such as `givenName:Ada*`, `familyName='O\'Brien'` and
/// `isSuspended=false`, separated by spaces, which must all hold.
enum GoogleQuery {
    /// Reads a query; `nil` if it is malformed or names an unknown field.
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
            guard let (value, isPrefix) = value(&rest) else { return nil }
            let fields: [UserProperty] = [.givenName, .surname, .mail, .userPrincipalName]
            return fields.dropFirst().reduce(holds(.givenName, value, isPrefix: isPrefix, isWord: true)) {
                .or($0, holds($1, value, isPrefix: isPrefix, isWord: true))
            }
        }
        rest = after.dropFirst()
        guard let (value, isPrefix) = value(&rest) else { return nil }
        switch name.lowercased() {
        case "issuspended":
            guard value == "true" || value == "false" else { return nil }
            return .compare(.init(property: .accountEnabled), .eq, .bool(value == "false"))
        case "isadmin", "isdelegatedadmin", "isenrolledin2sv":
            guard value == "true" || value == "false" else { return nil }
            let never = ODataFilter.compare(.init(property: .id), .eq, .null)
            return value == "true" ? never : .not(never)
        case "name":
            return .or(
                holds(.displayName, value, isPrefix: isPrefix, isWord: sign == ":"),
                holds(.surname, value, isPrefix: isPrefix, isWord: sign == ":"))
        case "email":
            return .or(
                holds(.userPrincipalName, value, isPrefix: isPrefix, isWord: false),
                holds(.mail, value, isPrefix: isPrefix, isWord: false))
        case "phone":
            let operand = ODataFilter.Operand(property: .businessPhones, isAnyElement: true)
            return .any(
                .businessPhones, isPrefix ? .startsWith(operand, value) : .compare(operand, .eq, .string(value)))
        case let field:
            guard let property = fields[field] else { return nil }
            return holds(property, value, isPrefix: isPrefix, isWord: sign == ":")
        }
    }

    private static let fields: [String: UserProperty] = [
        "givenname": .givenName, "familyname": .surname, "orgtitle": .jobTitle, "orgdepartment": .department,
        "orgname": .companyName, "externalid": .employeeId, "addresslocality": .city, "addresscountry": .usageLocation,
    ]

    private static func holds(_ property: UserProperty, _ value: String, isPrefix: Bool, isWord: Bool) -> ODataFilter {
        let operand = ODataFilter.Operand(property: property)
        if isPrefix { return .startsWith(operand, value) }
        let isEqual = ODataFilter.compare(operand, .eq, .string(value))
        guard isWord else { return isEqual }
        // A word, or several consecutive words.
        return .or(
            isEqual,
            .or(
                .startsWith(operand, value + " "),
                .or(.endsWith(operand, " " + value), .contains(operand, " \(value) "))
            ))
    }

    /// Returns a value, with or without quotes, and whether an asterisk follows it.
    private static func value(_ rest: inout Substring) -> (String, isPrefix: Bool)? {
        var value = ""
        if let quote = rest.first, quote == "'" || quote == "\"" {
            rest = rest.dropFirst()
            var isClosed = false
            while let character = rest.first {
                rest = rest.dropFirst()
                if character == quote {
                    isClosed = true
                    break
                }
                if character == "\\", let escaped = rest.first {
                    rest = rest.dropFirst()
                    value.append(escaped)
                } else {
                    value.append(character)
                }
            }
            guard isClosed else { return nil }
        } else {
            let word = rest.prefix { $0 != " " && $0 != "*" }
            rest = rest[word.endIndex...]
            value = String(word)
        }
        let isPrefix = rest.first == "*"
        if isPrefix { rest = rest.dropFirst() }
        guard rest.isEmpty || rest.first == " ", !value.isEmpty else { return nil }
        return (value, isPrefix)
    }
}
