import StrictJSON

/// A SCIM error. See RFC 7644 section 3.12.
struct SCIMFailure: Error, Equatable {
    var status = 400
    /// Such as `invalidFilter`.
    var type: String?
    var detail: String

    static func filter(_ detail: String) -> SCIMFailure { SCIMFailure(type: "invalidFilter", detail: detail) }
}

/// The filterable attributes of a user and their properties. See RFC 7643 section 4.1.
enum SCIMAttribute {
    static let core = "urn:ietf:params:scim:schemas:core:2.0:user"
    static let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user"

    /// Returns the property of an attribute path, in any case; `nil` if the path is unknown.
    static func property(_ path: String) -> UserProperty? {
        var name = path.lowercased()
        if name.hasPrefix(core + ":") { name.removeFirst(core.count + 1) }
        if name.hasPrefix(enterprise + ":") {
            switch name.dropFirst(enterprise.count + 1) {
            case "employeenumber": return .employeeId
            case "department": return .department
            case "organization": return .companyName
            default: return nil
            }
        }
        return properties[name]
    }

    private static let properties: [String: UserProperty] = [
        "id": .id, "username": .userPrincipalName, "displayname": .displayName, "name.formatted": .displayName,
        "name.givenname": .givenName, "name.familyname": .surname, "title": .jobTitle, "emails": .mail,
        "emails.value": .mail, "active": .accountEnabled, "externalid": .employeeId, "usertype": .userType,
        "preferredlanguage": .preferredLanguage, "meta.created": .createdDateTime,
        "meta.lastmodified": .createdDateTime, "phonenumbers": .businessPhones, "phonenumbers.value": .businessPhones,
        "addresses.locality": .city, "addresses.country": .usageLocation, "addresses.postalcode": .postalCode,
    ]
}

/// A reader of SCIM filters. `not` has the highest precedence, then `and`, then `or`. See RFC 7644 section 3.4.2.2.
struct SCIMFilterReader {
    private enum Token: Equatable {
        case word(String)
        case text(String)
        case open, close, openBracket, closeBracket
        case end
    }

    private var rest: Substring
    private var token = Token.end
    private var depth = 0
    private var clauses = 0

    /// Reads a filter.
    static func filter(_ text: String) throws(SCIMFailure) -> ODataFilter {
        var reader = SCIMFilterReader(rest: Substring(text))
        try reader.advance()
        let filter = try reader.disjunction(within: nil)
        guard reader.token == .end else { throw .filter("The filter should end here.") }
        return filter
    }

    private init(rest: Substring) { self.rest = rest }

    private mutating func advance() throws(SCIMFailure) {
        rest = rest.drop { $0 == " " }
        guard let first = rest.first else {
            token = .end
            return
        }
        switch first {
        case "(": token = .open
        case ")": token = .close
        case "[": token = .openBracket
        case "]": token = .closeBracket
        case "\"":
            token = .text(try text())
            return
        default:
            let word = rest.prefix { !" ()[]\"".contains($0) }
            token = .word(String(word))
            rest = rest[word.endIndex...]
            return
        }
        rest = rest.dropFirst()
    }

    /// Returns a JSON string.
    private mutating func text() throws(SCIMFailure) -> String {
        var end = rest.index(after: rest.startIndex)
        while end < rest.endIndex, rest[end] != "\"" {
            if rest[end] == "\\" { end = rest.index(after: end) }
            guard end < rest.endIndex else { break }
            end = rest.index(after: end)
        }
        guard end < rest.endIndex, let read = (try? JSONValue(parsing: Array(rest[...end].utf8)))?.string else {
            throw .filter("A string has no end or a wrong escape.")
        }
        rest = rest[rest.index(after: end)...]
        return read
    }

    private func isWord(_ word: String) -> Bool {
        if case .word(let found) = token { return found.lowercased() == word }
        return false
    }

    private mutating func disjunction(within list: String?) throws(SCIMFailure) -> ODataFilter {
        var left = try conjunction(within: list)
        while isWord("or") {
            try advance()
            left = .or(left, try conjunction(within: list))
        }
        return left
    }

    private mutating func conjunction(within list: String?) throws(SCIMFailure) -> ODataFilter {
        var left = try term(within: list)
        while isWord("and") {
            try advance()
            left = .and(left, try term(within: list))
        }
        return left
    }

    private mutating func term(within list: String?) throws(SCIMFailure) -> ODataFilter {
        depth += 1
        clauses += 1
        defer { depth -= 1 }
        guard depth <= 32, clauses <= 200 else { throw .filter("The filter is too long or nested too deeply.") }
        if isWord("not") {
            try advance()
            guard token == .open else { throw .filter("A parenthesis is expected after 'not'.") }
            return .not(try term(within: list))
        }
        if token == .open {
            try advance()
            let inner = try disjunction(within: list)
            guard token == .close else { throw .filter("A closing parenthesis is expected.") }
            try advance()
            return inner
        }
        return try clause(within: list)
    }

    private mutating func clause(within list: String?) throws(SCIMFailure) -> ODataFilter {
        guard case .word(let name) = token else { throw .filter("An attribute is expected.") }
        try advance()
        if token == .openBracket, list == nil {
            try advance()
            let inner = try disjunction(within: name)
            guard token == .closeBracket else { throw .filter("A closing bracket is expected.") }
            try advance()
            return inner
        }
        let path = list.map { "\($0).\(name)" } ?? name
        guard case .word(let word) = token else { throw .filter("An operator is expected after '\(path)'.") }
        try advance()
        let comparison = word.lowercased()
        // All addresses and numbers have the type `work`.
        if ["emails.type", "phonenumbers.type", "addresses.type"].contains(path.lowercased()) {
            let value = comparison == "pr" ? .text("work") : token
            if comparison != "pr" { try advance() }
            let property: UserProperty = path.lowercased().hasPrefix("emails") ? .mail : .userPrincipalName
            let holds = ODataFilter.compare(.init(property: property), .ne, .null)
            switch (comparison, value) {
            case ("eq", .text(let type)), ("pr", .text(let type)):
                return type.lowercased() == "work" ? holds : .not(.or(holds, .not(holds)))
            default: throw .filter("The type is compared with eq.")
            }
        }
        if path.lowercased() == "emails.primary" {
            try advance()
            return .compare(.init(property: .mail), .ne, .null)
        }
        guard let property = SCIMAttribute.property(path) else {
            throw .filter("There is no attribute '\(path)' to filter by.")
        }
        guard property.kind == .texts else { return try condition(.init(property: property), comparison, path) }
        if comparison == "pr" { return .any(property, nil) }
        return .any(property, try condition(.init(property: property, isAnyElement: true), comparison, path))
    }

    private mutating func condition(
        _ operand: ODataFilter.Operand, _ comparison: String, _ path: String
    ) throws(SCIMFailure) -> ODataFilter {
        if comparison == "pr" { return .compare(operand, .ne, .null) }
        let value = token
        try advance()
        switch value {
        case .text(let text):
            switch comparison {
            case "eq": return .compare(operand, .eq, .string(text))
            case "ne": return .compare(operand, .ne, .string(text))
            case "sw": return .startsWith(operand, text)
            case "ew": return .endsWith(operand, text)
            case "co": return .contains(operand, text)
            case "gt", "ge", "lt", "le":
                guard operand.property.kind == .date, let order = ODataFilter.Operator(rawValue: comparison) else {
                    throw .filter("'\(path)' has no order.")
                }
                return .compare(operand, order, .bare(text))
            default: throw .filter("'\(comparison)' is not an operator.")
            }
        case .word(let word):
            guard comparison == "eq" || comparison == "ne" else {
                throw .filter("'\(word)' is compared with eq or ne.")
            }
            let order: ODataFilter.Operator = comparison == "eq" ? .eq : .ne
            switch word.lowercased() {
            case "true": return .compare(operand, order, .bool(true))
            case "false": return .compare(operand, order, .bool(false))
            case "null": return .compare(operand, order, .null)
            default: throw .filter("A value is expected; strings have double quotes.")
            }
        default: throw .filter("A value is expected after '\(comparison)'.")
        }
    }
}
