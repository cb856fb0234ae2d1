/// A relation that the service returns with each user.
///
/// It costs one additional resource unit, returns at most 20 objects, and cannot be combined with an advanced query.
/// The management chain is itself an advanced query.
public struct UserExpansion: Sendable, Equatable {
    /// The length of a management chain.
    public enum Levels: Sendable, Equatable {
        /// Up to the top.
        case max
        /// At most this number of managers, 1 to 1,000.
        case upTo(Int)
    }

    /// The relation: `manager`, `directReports`, `memberOf` or `transitiveMemberOf`.
    public var relation: String
    /// The properties of the related object, by Graph's names.
    public var select: [String]
    /// The length of the chain in ``User/managers``, or `nil` for only the manager and for other relations.
    public var levels: Levels?

    /// Creates an expansion of a relation.
    public init(_ relation: String, select: [String] = ["id", "displayName"], levels: Levels? = nil) {
        self.relation = relation
        self.select = select
        self.levels = levels
    }

    /// Returns the expansion of the management chain, which is an advanced query.
    public static func managers(
        _ levels: Levels = .max, select: [String] = ["id", "displayName"]
    ) -> UserExpansion {
        UserExpansion("manager", select: select, levels: levels)
    }

    static let relations: Set<String> = ["manager", "directReports", "memberOf", "transitiveMemberOf"]

    /// Checks the expansion.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` if the service would reject it.
    func check() throws(DirectoryError) {
        guard Self.relations.contains(relation) else {
            throw .invalidQuery(
                "\"\(relation.visible(limit: 100))\" cannot be expanded; "
                    + "\(Self.relations.sorted().joined(separator: ", ")) can")
        }
        for name in select where !UserProperty(rawValue: name).isWellFormed || name.contains("/") {
            throw .noProperty(name)
        }
        guard let levels else { return }
        guard relation == "manager" else {
            throw .invalidQuery("\(relation) has no levels; manager has")
        }
        if case .upTo(let number) = levels, !(1...1000).contains(number) {
            throw .invalidQuery("a chain of \(number) managers is not possible: expected 1 to 1000")
        }
    }

    /// The value of `$expand`, not percent-encoded: `manager($levels=max;$select=id,displayName)`.
    var odata: String {
        var options: [String] = []
        switch levels {
        case nil: break
        case .max?: options.append("$levels=max")
        case .upTo(let number)?: options.append("$levels=\(number)")
        }
        if !select.isEmpty { options.append("$select=\(select.joined(separator: ","))") }
        return options.isEmpty ? relation : "\(relation)(\(options.joined(separator: ";")))"
    }
}
