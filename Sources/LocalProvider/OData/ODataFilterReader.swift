extension ODataFilter {
    /// Reads a `$filter` value, percent-decoded.
    init(parsing text: String) throws(ODataError) {
        var reader = ODataFilterReader(text)
        self = try reader.document()
    }
}

/// A recursive-descent reader. `or` has the lowest precedence, then `and`, then `not`.
private struct ODataFilterReader {
    private enum Token: Equatable {
        case word(String)
        case string(String)
        case open, close, comma, colon, slash
        case end
    }

    private static let maximumDepth = 32
    private static let maximumClauses = 500

    private let text: String
    private let scalars: [Unicode.Scalar]
    private var position = 0
    private var tokenStart = 0
    private var token = Token.end
    private var depth = 0
    private var clauses = 0
    /// The variable of the current `any` and its list.
    private var scope: (String, UserProperty)?

    init(_ text: String) {
        self.text = text
        scalars = Array(text.unicodeScalars)
    }

    mutating func document() throws(ODataError) -> ODataFilter {
        try advance()
        guard token != .end else { throw syntaxError("the filter is empty") }
        let filter = try disjunction()
        guard token == .end else { throw syntaxError("the expression should end here") }
        return filter
    }

    private func syntaxError(_ reason: String) -> ODataError {
        ODataError(
            kind: .syntax,
            message: "Invalid filter clause: Syntax error at position \(tokenStart) in '\(text)': \(reason).")
    }

    // MARK: Tokens

    private mutating func advance() throws(ODataError) {
        while position < scalars.count, scalars[position] == " " || scalars[position] == "\t" { position += 1 }
        tokenStart = position
        guard position < scalars.count else {
            token = .end
            return
        }
        let scalar = scalars[position]
        switch scalar {
        case "(": token = .open
        case ")": token = .close
        case ",": token = .comma
        case ":": token = .colon
        case "/": token = .slash
        case "'":
            token = .string(try string())
            return
        default:
            token = .word(try word())
            return
        }
        position += 1
    }

    /// Returns a quoted string, in which quotes are doubled.
    private mutating func string() throws(ODataError) -> String {
        var value = String.UnicodeScalarView()
        position += 1
        while position < scalars.count {
            if scalars[position] == "'" {
                guard position + 1 < scalars.count, scalars[position + 1] == "'" else {
                    position += 1
                    return String(value)
                }
                position += 1
            }
            value.append(scalars[position])
            position += 1
        }
        throw syntaxError("the string literal has no end")
    }

    /// Returns letters, digits and the punctuation of dates and identifiers. A colon must follow a digit, as in dates.
    private mutating func word() throws(ODataError) -> String {
        var value = String.UnicodeScalarView()
        while position < scalars.count {
            let scalar = scalars[position]
            let isPart: Bool
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "@", "$": isPart = true
            case ":", "+":
                if let last = value.last { isPart = ("0"..."9").contains(last) } else { isPart = false }
            default: isPart = false
            }
            guard isPart else { break }
            value.append(scalar)
            position += 1
        }
        guard !value.isEmpty else { throw syntaxError("this character is outside a string literal") }
        return String(value)
    }

    private func isKeyword(_ keyword: String) -> Bool {
        if case .word(let word) = token { return word.lowercased() == keyword }
        return false
    }

    private mutating func expect(_ expected: Token, _ name: String) throws(ODataError) {
        guard token == expected else { throw syntaxError("\(name) expected") }
        try advance()
    }

    // MARK: Expressions

    private mutating func disjunction() throws(ODataError) -> ODataFilter {
        var left = try conjunction()
        while isKeyword("or") {
            try advance()
            left = .or(left, try conjunction())
        }
        return left
    }

    private mutating func conjunction() throws(ODataError) -> ODataFilter {
        var left = try negation()
        while isKeyword("and") {
            try advance()
            left = .and(left, try negation())
        }
        return left
    }

    private mutating func negation() throws(ODataError) -> ODataFilter {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.maximumDepth else { throw syntaxError("the expression is nested too deeply") }
        if isKeyword("not") {
            try advance()
            return .not(try negation())
        }
        if token == .open {
            try advance()
            let inner = try disjunction()
            try expect(.close, "a closing parenthesis")
            return inner
        }
        clauses += 1
        guard clauses <= Self.maximumClauses else {
            throw .unsupported("Too many child clauses specified in the filter. Max allowed: \(Self.maximumClauses).")
        }
        return try clause(element: scope)
    }

    /// Returns a function or a comparison. Within `any`, `element` is the variable's name and the list property.
    private mutating func clause(element: (String, UserProperty)?) throws(ODataError) -> ODataFilter {
        guard case .word(let name) = token else { throw syntaxError("a property or a function expected") }
        try advance()
        if token == .open { return try function(name, element) }
        if token == .slash, element == nil, UserProperty(name: name)?.isList == true { return try lambda(over: name) }
        let operand = try operand(name, element)
        guard case .word(let word) = token else { throw syntaxError("an operator expected") }
        if word.lowercased() == "in" {
            try advance()
            return .oneOf(operand, try list())
        }
        guard let comparison = Operator(rawValue: word.lowercased()) else {
            throw syntaxError("'\(word)' is not an operator")
        }
        try advance()
        return .compare(operand, comparison, try literal())
    }

    private typealias Operator = ODataFilter.Operator

    private mutating func function(
        _ name: String, _ element: (String, UserProperty)?
    ) throws(ODataError) -> ODataFilter {
        let folded = name.lowercased()
        guard folded == "startswith" || folded == "endswith" else {
            throw folded == "contains"
                ? .unsupported("Function 'contains' is not supported for resource 'User'.")
                : syntaxError("An unknown function with name '\(name)' was found")
        }
        try advance()
        guard case .word(let property) = token else { throw syntaxError("a property expected") }
        try advance()
        let operand = try operand(property, element)
        try expect(.comma, "a comma")
        guard case .string(let text) = token else { throw syntaxError("a string literal expected") }
        try advance()
        try expect(.close, "a closing parenthesis")
        let filter: ODataFilter = folded == "startswith" ? .startsWith(operand, text) : .endsWith(operand, text)
        guard isKeyword("eq") else { return filter }
        try advance()
        switch try literal() {
        case .bool(true): return filter
        case .bool(false): return .not(filter)
        default: throw syntaxError("true or false expected")
        }
    }

    /// Returns a condition on a list, such as `businessPhones/any(p:p eq '…')` or `assignedLicenses/$count eq 0`.
    private mutating func lambda(over name: String) throws(ODataError) -> ODataFilter {
        guard let property = UserProperty(name: name) else { throw unknown(name) }
        try advance()
        if isKeyword("$count") {
            try advance()
            guard case .word(let word) = token, let comparison = Operator(rawValue: word.lowercased()) else {
                throw syntaxError("an operator expected")
            }
            try advance()
            let literal = try literal()
            guard case .bare(let digits) = literal, Int(digits) != nil else { throw syntaxError("a number expected") }
            return .compare(.init(property: property, isCount: true), comparison, literal)
        }
        guard isKeyword("any") else {
            throw isKeyword("all")
                ? ODataError(kind: .syntax, message: "Invalid filter clause: 'all' is not supported.")
                : syntaxError("any expected")
        }
        try advance()
        try expect(.open, "an opening parenthesis")
        if token == .close {
            try advance()
            return .any(property, nil)
        }
        guard case .word(let variable) = token else { throw syntaxError("a variable expected") }
        try advance()
        try expect(.colon, "a colon")
        let outer = scope
        scope = (variable, property)
        defer { scope = outer }
        let inner = try disjunction()
        try expect(.close, "a closing parenthesis")
        return .any(property, inner)
    }

    /// Returns a property or the variable of `any`, with a member if a slash follows.
    private mutating func operand(
        _ name: String, _ element: (String, UserProperty)?
    ) throws(ODataError) -> ODataFilter.Operand {
        if let element {
            guard name == element.0 else { throw syntaxError("the variable '\(element.0)' expected") }
            let member = try member()
            guard (member != nil) == (element.1.kind == .objects) else {
                throw syntaxError(member == nil ? "a member of the element expected" : "the element has no members")
            }
            return .init(property: element.1, isAnyElement: true, member: member)
        }
        guard let property = UserProperty(name: name) else { throw unknown(name) }
        guard !property.isList else {
            throw .unsupported("Use any() on the list property '\(property.rawValue)' of resource 'User'.")
        }
        let member = try member()
        guard member == nil || property.kind == .object else { throw syntaxError("'\(name)' has no members") }
        return .init(property: property, member: member)
    }

    private mutating func member() throws(ODataError) -> String? {
        guard token == .slash else { return nil }
        try advance()
        guard case .word(let name) = token else { throw syntaxError("a member expected") }
        try advance()
        return name
    }

    private func unknown(_ name: String) -> ODataError {
        ODataError(
            kind: .syntax,
            message: "Invalid filter clause: Could not find a property named '\(name)' on type 'microsoft.graph.user'.")
    }

    private mutating func list() throws(ODataError) -> [ODataLiteral] {
        try expect(.open, "an opening parenthesis")
        var literals = [try literal()]
        while token == .comma {
            try advance()
            literals.append(try literal())
        }
        try expect(.close, "a closing parenthesis")
        return literals
    }

    private mutating func literal() throws(ODataError) -> ODataLiteral {
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
