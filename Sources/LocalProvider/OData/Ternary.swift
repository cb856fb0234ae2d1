/// The result of a condition for all users with the same names: one evaluation for thousands of users.
enum Ternary: Sendable {
    case no
    /// It depends on the user.
    case maybe
    case yes

    static func and(_ left: Ternary, _ right: Ternary) -> Ternary {
        if left == .no || right == .no { return .no }
        return left == .yes && right == .yes ? .yes : .maybe
    }

    static func or(_ left: Ternary, _ right: Ternary) -> Ternary {
        if left == .yes || right == .yes { return .yes }
        return left == .no && right == .no ? .no : .maybe
    }

    static func not(_ verdict: Ternary) -> Ternary {
        switch verdict {
        case .no: .yes
        case .maybe: .maybe
        case .yes: .no
        }
    }

    init(_ isTrue: Bool) { self = isTrue ? .yes : .no }
}

extension UserTable.NamePair {
    /// Returns the value of a property that follows from the names.
    fileprivate func text(_ property: UserProperty) -> String? {
        switch property {
        case .givenName: givenName
        case .surname: surname
        case .displayName: displayName
        default: nil
        }
    }

    /// Returns whether addresses have this prefix. All begin with ``address``, in lowercase.
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
    func verdict(_ pair: UserTable.NamePair) -> Ternary {
        switch self {
        case .and(let left, let right): return .and(left.verdict(pair), right.verdict(pair))
        case .or(let left, let right): return .or(left.verdict(pair), right.verdict(pair))
        case .not(let inner): return .not(inner.verdict(pair))
        case .any, .endsWith, .contains: return .maybe
        case .startsWith(let operand, let prefix):
            if let text = pair.text(operand.property) { return Ternary(Folding.starts(text, with: prefix)) }
            return operand.isAnyElement ? .maybe : pair.addressBegins(prefix, operand.property)
        case .oneOf(let operand, let literals):
            return literals.reduce(.no) { .or($0, Self.equals(operand, $1, pair)) }
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
    func verdict(_ pair: UserTable.NamePair) -> Ternary {
        alternatives.reduce(.no) { found, clauses in
            .or(
                found,
                clauses.reduce(.yes) { all, clause in
                    let one =
                        pair.text(clause.property).map { Ternary(clause.matches($0)) }
                        ?? pair.addressBegins(clause.text, clause.property)
                    return .and(all, one)
                })
        }
    }
}
