extension ODataFilter {
    /// Creates a filter from a percent-decoded `$filter` value.
    init(parsing text: String) throws(FilterError) {
        var reader = ODataFilterReader(input: FilterInput(text))
        self = try reader.filter()
    }
}

private struct ODataFilterReader: FilterReader {
    static let symbols: Set<Unicode.Scalar> = ["(", ")", ",", ":", "/"]
    static let quote: Unicode.Scalar = "'"
    static let maximumConditions = 500
    static let negatesOnlyParentheses = false

    var input: FilterInput
    /// The variable and the list of the current `any`.
    private var scope: (variable: String, property: UserProperty)?

    init(input: FilterInput) { self.input = input }

    // MARK: Tokens

    /// Reads a string with doubled quotes.
    mutating func string() throws(FilterError) -> String {
        var value = String.UnicodeScalarView()
        input.position += 1
        while let scalar = input.next {
            input.position += 1
            if scalar == "'" {
                guard input.next == "'" else { return String(value) }
                input.position += 1
            }
            value.append(scalar)
        }
        throw syntaxError("the string literal has no end")
    }

    /// Returns whether this is a letter, a digit, or punctuation of dates and identifiers.
    ///
    /// A colon must follow a digit, as in dates.
    static func isPartOfWord(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "@", "$": true
        case ":", "+": last.map { ("0"..."9").contains($0) } ?? false
        default: false
        }
    }

    // MARK: Conditions

    /// Reads a function or a comparison. Within `any`, its operand is the variable.
    mutating func condition() throws(FilterError) -> ODataFilter {
        let name = try expectWord("a property or a function")
        if try skip(symbol: "(") { return try function(name) }
        if scope == nil, let property = UserProperty(name: name), property.isList, try skip(symbol: "/") {
            return try lambda(over: property)
        }
        let operand = try operand(name)
        if try skip("in") { return .oneOf(operand, try list()) }
        let comparison = try comparison()
        return .compare(operand, comparison, try literal())
    }

    private mutating func comparison() throws(FilterError) -> ODataFilter.Operator {
        guard case .word(let word) = token else { throw syntaxError("an operator expected") }
        guard let comparison = ODataFilter.Operator(rawValue: word.lowercased()) else {
            throw syntaxError("'\(word)' is not an operator")
        }
        try advance()
        return comparison
    }

    private mutating func function(_ name: String) throws(FilterError) -> ODataFilter {
        let folded = name.lowercased()
        guard folded == "startswith" || folded == "endswith" else {
            throw folded == "contains"
                ? .unsupported("Function 'contains' is not supported for resource 'User'.")
                : syntaxError("An unknown function with name '\(name)' was found")
        }
        let operand = try operand(try expectWord("a property"))
        try expect(",", "a comma")
        guard case .string(let text) = token else { throw syntaxError("a string literal expected") }
        try advance()
        try expect(")", "a closing parenthesis")
        let filter: ODataFilter = folded == "startswith" ? .startsWith(operand, text) : .endsWith(operand, text)
        guard try skip("eq") else { return filter }
        switch try literal() {
        case .bool(true): return filter
        case .bool(false): return .not(filter)
        default: throw syntaxError("true or false expected")
        }
    }

    /// Reads a condition on a list, such as `businessPhones/any(p:p eq '…')` or `assignedLicenses/$count eq 0`.
    private mutating func lambda(over property: UserProperty) throws(FilterError) -> ODataFilter {
        if try skip("$count") {
            let comparison = try comparison()
            let literal = try literal()
            guard case .bare(let digits) = literal, Int(digits) != nil else { throw syntaxError("a number expected") }
            return .compare(.init(property: property, isCount: true), comparison, literal)
        }
        guard try skip("any") else {
            throw isKeyword("all")
                ? FilterError(kind: .syntax, message: "Invalid filter clause: 'all' is not supported.")
                : syntaxError("any expected")
        }
        try expect("(", "an opening parenthesis")
        if try skip(symbol: ")") { return .any(property, nil) }
        let variable = try expectWord("a variable")
        try expect(":", "a colon")
        scope = (variable, property)
        defer { scope = nil }
        let inner = try disjunction()
        try expect(")", "a closing parenthesis")
        return .any(property, inner)
    }

    /// Reads the members of a property or of the variable of `any`.
    private mutating func operand(_ name: String) throws(FilterError) -> ODataFilter.Operand {
        if let scope {
            guard name == scope.variable else { throw syntaxError("the variable '\(scope.variable)' expected") }
            let member = try member()
            guard (member != nil) == (scope.property.kind == .objects) else {
                throw syntaxError(member == nil ? "a member of the element expected" : "the element has no members")
            }
            return .init(property: scope.property, isAnyElement: true, member: member)
        }
        guard let property = UserProperty(name: name) else {
            let reason = "Could not find a property named '\(name)' on type 'microsoft.graph.user'."
            throw FilterError(kind: .syntax, message: "Invalid filter clause: \(reason)")
        }
        guard !property.isList else {
            throw .unsupported("Use any() on the list property '\(property.rawValue)' of resource 'User'.")
        }
        let member = try member()
        guard member == nil || property.kind == .object else { throw syntaxError("'\(name)' has no members") }
        return .init(property: property, member: member)
    }

    private mutating func member() throws(FilterError) -> String? {
        try skip(symbol: "/") ? try expectWord("a member") : nil
    }

    private mutating func list() throws(FilterError) -> [ODataLiteral] {
        try expect("(", "an opening parenthesis")
        var literals = [try literal()]
        while try skip(symbol: ",") { literals.append(try literal()) }
        try expect(")", "a closing parenthesis")
        return literals
    }

    private mutating func literal() throws(FilterError) -> ODataLiteral {
        let value: ODataLiteral
        switch token {
        case .string(let text): value = .string(text)
        case .word(let word):
            switch word.lowercased() {
            case "true": value = .bool(true)
            case "false": value = .bool(false)
            case "null": value = .null
            default:
                let isDigit = word.unicodeScalars.first.map { ("0"..."9").contains($0) || $0 == "-" } ?? false
                guard isDigit || word.utf8.count == 36 else {
                    throw syntaxError("a literal expected; strings have quotes")
                }
                value = .bare(word)
            }
        default: throw syntaxError("a literal expected")
        }
        try advance()
        return value
    }
}
