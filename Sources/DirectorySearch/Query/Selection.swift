/// A relation that is answered within the same answer. Costs one resource unit more, gives at most 20 objects, and does not go with
/// an advanced query.
public struct UserExpansion: Sendable, Equatable {
    /// The relation: `manager`, `directReports`, `memberOf` or `transitiveMemberOf`.
    public var relation: String
    /// The properties of the related object, by Graph's own names.
    public var select: [String]

    /// An expansion of this relation.
    public init(_ relation: String, select: [String] = ["id", "displayName"]) {
        self.relation = relation
        self.select = select
    }

    static let relations: Set<String> = ["manager", "directReports", "memberOf", "transitiveMemberOf"]
}

/// What a list is sorted by.
public struct UserOrder: Sendable, Equatable {
    /// The property: `displayName`, `userPrincipalName`, or, as an advanced query, `createdDateTime` or `deletedDateTime`.
    public var property: UserProperty
    /// Whether the greatest comes first.
    public var isDescending: Bool

    /// An order.
    public init(property: UserProperty, isDescending: Bool = false) {
        self.property = property
        self.isDescending = isDescending
    }

    /// From the smallest to the greatest.
    public static func ascending(_ property: UserProperty) -> UserOrder {
        UserOrder(property: property, isDescending: false)
    }
    /// From the greatest to the smallest.
    public static func descending(_ property: UserProperty) -> UserOrder {
        UserOrder(property: property, isDescending: true)
    }

    var odata: String { isDescending ? "\(property) desc" : property.rawValue }
}

/// The properties asked for, parted into those of the person and those of somebody related.
struct Selection: Sendable, Equatable {
    /// The names of `$select`, each once.
    private(set) var properties: [String] = []
    /// What `$expand` asks for.
    private(set) var expansion: UserExpansion?

    /// - Parameter select: names; `manager.displayName` asks for a property of a related person, `employeeOrgData.division` for
    ///   the object that has it.
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery`.
    init(_ select: [String], expanding expansion: UserExpansion? = nil) throws(DirectoryError) {
        self.expansion = expansion
        guard !select.isEmpty else { throw DirectoryError(.invalidQuery("no property is asked for")) }
        if let expansion { try Self.check(expansion) }
        for name in select {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
            for part in parts where !UserProperty(rawValue: part).isWellFormed || part.contains("/") {
                throw DirectoryError(.invalidQuery("\"\(name.visible(limit: 100))\" is no property's name"))
            }
            if UserExpansion.relations.contains(parts[0]) {
                guard parts.count <= 2 else {
                    throw DirectoryError(
                        .invalidQuery("\(name) leads further than one step; ask for \(parts[0]).\(parts[1])"))
                }
                try expand(parts[0], parts.count == 2 ? [parts[1]] : ["id", "displayName"])
            } else if !properties.contains(parts[0]) {
                properties.append(parts[0])
            }
        }
        // Without a selection the service answers with everything that it gives by default.
        if properties.isEmpty { properties = ["id"] }
    }

    private static func check(_ expansion: UserExpansion) throws(DirectoryError) {
        guard UserExpansion.relations.contains(expansion.relation) else {
            throw DirectoryError(
                .invalidQuery(
                    "\"\(expansion.relation.visible(limit: 100))\" cannot be expanded; "
                        + "\(UserExpansion.relations.sorted().joined(separator: ", ")) can"))
        }
        for name in expansion.select where !UserProperty(rawValue: name).isWellFormed {
            throw DirectoryError(.invalidQuery("\"\(name.visible(limit: 100))\" is no property's name"))
        }
    }

    private mutating func expand(_ relation: String, _ select: [String]) throws(DirectoryError) {
        var expansion = self.expansion ?? UserExpansion(relation, select: [])
        guard expansion.relation == relation else {
            throw DirectoryError(
                .invalidQuery(
                    "the service expands one relation only, not both \(expansion.relation) and \(relation); ask for one of them"
                ))
        }
        expansion.select += select.filter { !expansion.select.contains($0) }
        self.expansion = expansion
    }

    /// `$select=…`
    var selectOption: String { "$select=" + ODataEscaping.queryValue(properties.joined(separator: ",")) }

    /// `$expand=…`; nil when nothing is expanded.
    var expandOption: String? {
        guard let expansion else { return nil }
        let inner = expansion.select.isEmpty ? "" : "($select=\(expansion.select.joined(separator: ",")))"
        return "$expand=" + ODataEscaping.queryValue(expansion.relation + inner)
    }

    /// Both, for the address of one person.
    var options: String { expandOption.map { "\(selectOption)&\($0)" } ?? selectOption }
}
