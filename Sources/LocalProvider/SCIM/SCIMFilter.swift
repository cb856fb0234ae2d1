import StrictJSON

/// A SCIM error. See RFC 7644 section 3.12.
struct SCIMFailure: Error, Equatable {
    var status = 400
    /// The SCIM error type, such as `invalidFilter`.
    var type: String?
    var detail: String
}

/// The filterable attributes of a user and their properties. See RFC 7643 section 4.1.
enum SCIMAttribute {
    static let core = "urn:ietf:params:scim:schemas:core:2.0:user"
    static let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:user"

    /// Returns the property of an attribute path, ignoring case, or `nil` if the path is unknown.
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

/// A parser for SCIM filters. See RFC 7644 section 3.4.2.2.
struct SCIMFilterReader: FilterReader {
    static let symbols: Set<Unicode.Scalar> = ["(", ")", "[", "]"]
    static let quote: Unicode.Scalar = "\""
    static let maximumConditions = 200
    static let negatesOnlyParentheses = true

    var input: FilterInput
    /// The list whose elements the conditions in brackets apply to.
    private var list: String?

    static func filter(_ text: String) throws(SCIMFailure) -> ODataFilter {
        var reader = SCIMFilterReader(input: FilterInput(text))
        do throws(FilterError) {
            return try reader.filter()
        } catch {
            throw SCIMFailure(type: "invalidFilter", detail: error.message)
        }
    }

    private init(input: FilterInput) { self.input = input }

    static func isPartOfWord(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        !" \t()[]\"".unicodeScalars.contains(scalar)
    }

    mutating func string() throws(FilterError) -> String {
        let start = input.position
        repeat { input.position += input.next == "\\" ? 2 : 1 } while input.next.map { $0 != "\"" } ?? false
        guard input.next == "\"" else { throw syntaxError("the string has no end") }
        input.position += 1
        var json = String.UnicodeScalarView()
        json.append(contentsOf: input.scalars[start..<input.position])
        guard let text = (try? JSONValue(parsing: Array(String(json).utf8)))?.string else {
            throw syntaxError("the string has a wrong escape")
        }
        return text
    }

    mutating func condition() throws(FilterError) -> ODataFilter {
        let name = try expectWord("an attribute")
        if list == nil, try skip(symbol: "[") {
            list = name
            defer { list = nil }
            let inner = try disjunction()
            try expect("]", "a closing bracket")
            return inner
        }
        let path = (list.map { "\($0).\(name)" } ?? name).lowercased()
        let comparison = try expectWord("an operator").lowercased()
        switch path {
        case "emails.type", "phonenumbers.type", "addresses.type": return try typeCondition(path, comparison)
        case "emails.primary":
            try advance()
            return .compare(.init(property: .mail), .ne, .null)
        default: break
        }
        guard let property = SCIMAttribute.property(path) else {
            throw syntaxError("there is no attribute '\(path)' to filter by")
        }
        guard property.kind == .texts else { return try condition(.init(property: property), comparison) }
        if comparison == "pr" { return .any(property, nil) }
        return .any(property, try condition(.init(property: property, isAnyElement: true), comparison))
    }

    /// Reads a condition on the type of an address or a number, which is always `work`.
    private mutating func typeCondition(_ path: String, _ comparison: String) throws(FilterError) -> ODataFilter {
        let holds = ODataFilter.compare(
            .init(property: path.hasPrefix("emails") ? .mail : .userPrincipalName), .ne, .null)
        if comparison == "pr" { return holds }
        guard comparison == "eq", case .string(let type) = token else {
            throw syntaxError("the type is compared with eq")
        }
        try advance()
        return type.lowercased() == "work" ? holds : .not(.or(holds, .not(holds)))
    }

    private mutating func condition(
        _ operand: ODataFilter.Operand, _ comparison: String
    ) throws(FilterError) -> ODataFilter {
        if comparison == "pr" { return .compare(operand, .ne, .null) }
        let order = ODataFilter.Operator(rawValue: comparison)
        let literal: ODataLiteral
        switch (token, order) {
        case (.string(let text), .eq?), (.string(let text), .ne?): literal = .string(text)
        case (.string(let text), _?) where operand.property.kind == .date: literal = .bare(text)
        case (.string, _?): throw syntaxError("'\(operand.property.rawValue)' has no order")
        case (.string(let text), nil):
            try advance()
            switch comparison {
            case "sw": return .startsWith(operand, text)
            case "ew": return .endsWith(operand, text)
            case "co": return .contains(operand, text)
            default: throw syntaxError("'\(comparison)' is not an operator")
            }
        case (.word(let word), .eq?), (.word(let word), .ne?):
            let constants: [String: ODataLiteral] = ["true": .bool(true), "false": .bool(false), "null": .null]
            guard let constant = constants[word.lowercased()] else {
                throw syntaxError("a value expected; strings have double quotes")
            }
            literal = constant
        default: throw syntaxError("a value expected after '\(comparison)'")
        }
        guard let order else { throw syntaxError("'\(comparison)' is not an operator") }
        try advance()
        return .compare(operand, order, literal)
    }
}
