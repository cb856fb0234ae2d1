/// A relation that is answered within the same answer. Costs one resource unit more, gives at most 20 objects, and does not go with
/// an advanced query, except the chain of managers, which is one.
public struct UserExpansion: Sendable, Equatable {
    /// How far up a chain of managers goes.
    public enum Levels: Sendable, Equatable {
        /// Up to the top.
        case max
        /// At most this many managers above one another, 1 to 1,000.
        case upTo(Int)
    }

    /// The relation: `manager`, `directReports`, `memberOf` or `transitiveMemberOf`.
    public var relation: String
    /// The properties of the related object, by Graph's own names.
    public var select: [String]
    /// The managers above the manager too, each within the other: ``User/managers`` lists them. Nil for the manager alone, and for
    /// other relations.
    public var levels: Levels?

    /// An expansion of this relation.
    public init(_ relation: String, select: [String] = ["id", "displayName"], levels: Levels? = nil) {
        self.relation = relation
        self.select = select
        self.levels = levels
    }

    /// The manager, the manager's manager and so on. An advanced query.
    public static func managers(
        _ levels: Levels = .max, select: [String] = ["id", "displayName"]
    ) -> UserExpansion {
        UserExpansion("manager", select: select, levels: levels)
    }

    static let relations: Set<String> = ["manager", "directReports", "memberOf", "transitiveMemberOf"]

    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` when the service would refuse it.
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
            throw .invalidQuery("a chain of \(number) managers is asked for; 1 to 1000 are taken")
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
