/// A recursive-descent parser for filter languages. OData and SCIM share the Boolean operators, but not the conditions.
///
/// `or` has the lowest precedence, then `and`, then `not`.
protocol FilterReader {
    /// The characters that are separate tokens.
    static var symbols: Set<Unicode.Scalar> { get }
    static var quote: Unicode.Scalar { get }
    static var maximumConditions: Int { get }
    /// Whether `not` applies only to an expression in parentheses.
    static var negatesOnlyParentheses: Bool { get }
    /// Returns whether a character continues a word that ends with `last`, or starts one.
    static func isPartOfWord(_ scalar: Unicode.Scalar, after last: Unicode.Scalar?) -> Bool

    var input: FilterInput { get set }
    /// Reads the string that starts at the next quote.
    mutating func string() throws(FilterError) -> String
    mutating func condition() throws(FilterError) -> ODataFilter
}

/// The text of a filter with its current token and the limits for its parser.
struct FilterInput {
    enum Token: Equatable {
        case word(String)
        case string(String)
        case symbol(Unicode.Scalar)
        case end
    }

    let text: String
    let scalars: [Unicode.Scalar]
    var position = 0
    var tokenStart = 0
    var token = Token.end
    var depth = 0
    var conditions = 0

    init(_ text: String) {
        self.text = text
        scalars = Array(text.unicodeScalars)
    }

    var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }
}

struct FilterError: Error, Equatable {
    enum Kind: Equatable {
        case syntax
        case unsupported
    }
    var kind: Kind
    var message: String

    static func unsupported(_ message: String) -> FilterError { FilterError(kind: .unsupported, message: message) }
}

extension FilterReader {
    var token: FilterInput.Token { input.token }

    mutating func filter() throws(FilterError) -> ODataFilter {
        try advance()
        guard token != .end else { throw syntaxError("the filter is empty") }
        let filter = try disjunction()
        guard token == .end else { throw syntaxError("the expression should end here") }
        return filter
    }

    func syntaxError(_ reason: String) -> FilterError {
        let location = "position \(input.tokenStart) in '\(input.text)'"
        return FilterError(kind: .syntax, message: "Invalid filter clause: Syntax error at \(location): \(reason).")
    }

    // MARK: Tokens

    mutating func advance() throws(FilterError) {
        while input.next == " " || input.next == "\t" { input.position += 1 }
        input.tokenStart = input.position
        guard let scalar = input.next else {
            input.token = .end
            return
        }
        if scalar == Self.quote {
            input.token = .string(try string())
        } else if Self.symbols.contains(scalar) {
            input.token = .symbol(scalar)
            input.position += 1
        } else {
            input.token = .word(try word())
        }
    }

    private mutating func word() throws(FilterError) -> String {
        var word = String.UnicodeScalarView()
        while let scalar = input.next, Self.isPartOfWord(scalar, after: word.last) {
            word.append(scalar)
            input.position += 1
        }
        guard !word.isEmpty else { throw syntaxError("this character is outside a string literal") }
        return String(word)
    }

    func isKeyword(_ keyword: String) -> Bool {
        if case .word(let word) = token { word.lowercased() == keyword } else { false }
    }

    mutating func skip(_ keyword: String) throws(FilterError) -> Bool {
        guard isKeyword(keyword) else { return false }
        try advance()
        return true
    }

    mutating func skip(symbol: Unicode.Scalar) throws(FilterError) -> Bool {
        guard token == .symbol(symbol) else { return false }
        try advance()
        return true
    }

    mutating func expect(_ symbol: Unicode.Scalar, _ name: String) throws(FilterError) {
        guard try skip(symbol: symbol) else { throw syntaxError("\(name) expected") }
    }

    mutating func expectWord(_ name: String) throws(FilterError) -> String {
        guard case .word(let word) = token else { throw syntaxError("\(name) expected") }
        try advance()
        return word
    }

    // MARK: Expressions

    mutating func disjunction() throws(FilterError) -> ODataFilter {
        var left = try conjunction()
        while try skip("or") { left = .or(left, try conjunction()) }
        return left
    }

    private mutating func conjunction() throws(FilterError) -> ODataFilter {
        var left = try negation()
        while try skip("and") { left = .and(left, try negation()) }
        return left
    }

    private mutating func negation() throws(FilterError) -> ODataFilter {
        input.depth += 1
        defer { input.depth -= 1 }
        guard input.depth <= 32 else { throw syntaxError("the expression is nested too deeply") }
        if try skip("not") {
            guard !Self.negatesOnlyParentheses || token == .symbol("(") else {
                throw syntaxError("an opening parenthesis expected")
            }
            return .not(try negation())
        }
        if try skip(symbol: "(") {
            let inner = try disjunction()
            try expect(")", "a closing parenthesis")
            return inner
        }
        input.conditions += 1
        guard input.conditions <= Self.maximumConditions else {
            throw .unsupported(
                "Too many child clauses specified in the filter. Max allowed: \(Self.maximumConditions).")
        }
        return try condition()
    }
}

extension Substring {
    /// Removes and returns a quoted string, in which a backslash escapes a character, or `nil` without one.
    mutating func removeQuotedString(_ quote: Character) -> String? {
        guard first == quote else { return nil }
        removeFirst()
        var content = ""
        while let character = popFirst() {
            if character == quote { return content }
            guard let included = character == "\\" ? popFirst() : character else { return nil }
            content.append(included)
        }
        return nil
    }
}
