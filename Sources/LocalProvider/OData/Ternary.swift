/// The result of a condition for all users with the same names, so that one evaluation serves thousands of users.
enum Ternary: Int, Comparable {
    case no
    /// It depends on the user.
    case maybe
    case yes

    init(_ isTrue: Bool) { self = isTrue ? .yes : .no }

    // In the order no, maybe, yes, "and" is the minimum and "or" the maximum (Kleene's three-valued logic).
    static func < (left: Ternary, right: Ternary) -> Bool { left.rawValue < right.rawValue }
    static func and(_ left: Ternary, _ right: Ternary) -> Ternary { min(left, right) }
    static func or(_ left: Ternary, _ right: Ternary) -> Ternary { max(left, right) }
    static func not(_ result: Ternary) -> Ternary { Ternary(rawValue: 2 - result.rawValue) ?? .maybe }
}

extension UserTable.NamePair {
    /// Returns the value of a property that depends only on the names, or `nil`.
    fileprivate func text(_ property: UserProperty) -> String? {
        switch property {
        case .givenName: givenName
        case .surname: surname
        case .displayName: displayName
        default: nil
        }
    }

    /// Returns whether addresses have this prefix. All of them start with ``address``, in lowercase.
    fileprivate func addressBegins(_ prefix: String, _ property: UserProperty) -> Ternary {
        guard [.mail, .userPrincipalName, .mailNickname].contains(property) else { return .maybe }
        let folded = prefix.lowercased()
        // Some users have no mail address.
        if address.hasPrefix(folded) { return property == .mail ? .maybe : .yes }
        return folded.hasPrefix(address) ? .maybe : .no
    }

    fileprivate func addressIs(_ text: String, _ property: UserProperty) -> Ternary {
        guard [.mail, .userPrincipalName, .mailNickname].contains(property) else { return .maybe }
        return text.lowercased().hasPrefix(address) ? .maybe : .no
    }
}

extension ODataFilter {
    /// Returns the result for all users with these names.
    func result(for pair: UserTable.NamePair) -> Ternary {
        switch self {
        case .and(let left, let right): return .and(left.result(for: pair), right.result(for: pair))
        case .or(let left, let right): return .or(left.result(for: pair), right.result(for: pair))
        case .not(let inner): return .not(inner.result(for: pair))
        case .any, .endsWith, .contains: return .maybe
        case .startsWith(let operand, let prefix):
            if let text = pair.text(operand.property) { return Ternary(Folding.starts(text, with: prefix)) }
            return operand.isAnyElement ? .maybe : pair.addressBegins(prefix, operand.property)
        case .oneOf(let operand, let literals):
            return literals.map { Self.equals(operand, $0, pair) }.max() ?? .no
        case .compare(let operand, let comparison, let literal):
            switch comparison {
            case .eq: return Self.equals(operand, literal, pair)
            case .ne: return .not(Self.equals(operand, literal, pair))
            case .gt, .ge, .lt, .le: return .maybe
            }
        }
    }

    private static func equals(_ operand: Operand, _ literal: ODataLiteral, _ pair: UserTable.NamePair) -> Ternary {
        guard !operand.isCount, !operand.isAnyElement, operand.member == nil else { return .maybe }
        switch literal {
        case .string(let value), .bare(let value):
            if let text = pair.text(operand.property) { return Ternary(Folding.areEqual(text, value)) }
            return pair.addressIs(value, operand.property)
        case .null: return pair.text(operand.property) != nil ? .no : .maybe
        case .bool: return .maybe
        }
    }
}

extension ODataSearch {
    /// Returns the result for all users with these names.
    func result(for pair: UserTable.NamePair) -> Ternary {
        let results = alternatives.map { clauses in
            clauses.map { clause in
                pair.text(clause.property).map { Ternary(clause.matches($0)) }
                    ?? pair.addressBegins(clause.text, clause.property)
            }.min() ?? .yes
        }
        return results.max() ?? .no
    }
}
