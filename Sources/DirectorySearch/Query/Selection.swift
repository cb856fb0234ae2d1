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
        guard !select.isEmpty else { throw .invalidQuery("no property is asked for") }
        try expansion?.check()
        for name in select {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
            for part in parts where !UserProperty(rawValue: part).isWellFormed || part.contains("/") {
                throw .noProperty(name)
            }
            if UserExpansion.relations.contains(parts[0]) {
                guard parts.count <= 2 else {
                    throw .invalidQuery("\(name) leads further than one step; ask for \(parts[0]).\(parts[1])")
                }
                try expand(parts[0], parts.count == 2 ? [parts[1]] : ["id", "displayName"])
            } else if !properties.contains(parts[0]) {
                properties.append(parts[0])
            }
        }
        // Without a selection the service answers with everything that it gives by default.
        if properties.isEmpty { properties = ["id"] }
    }

    /// What the service gives for one person only is refused in a list.
    func checkForLists() throws(DirectoryError) {
        for name in properties where PropertySupport.singleUserOnly.contains(name) {
            throw .invalidQuery(
                "the service gives \(name) for one person only, not in a list; ask for each person by itself")
        }
    }

    private mutating func expand(_ relation: String, _ select: [String]) throws(DirectoryError) {
        var expansion = self.expansion ?? UserExpansion(relation, select: [])
        guard expansion.relation == relation else {
            throw .invalidQuery(
                "the service expands one relation only, not both \(expansion.relation) and \(relation); ask for one of them"
            )
        }
        expansion.select += select.filter { !expansion.select.contains($0) }
        self.expansion = expansion
    }

    /// `$select=…`
    var selectOption: String { "$select=" + ODataEscaping.queryValue(properties.joined(separator: ",")) }

    /// `$expand=…`; nil when nothing is expanded.
    var expandOption: String? { expansion.map { "$expand=" + ODataEscaping.queryValue($0.odata) } }

    /// Whether the request carries `ConsistencyLevel: eventual` and `$count=true` for what is expanded.
    var needsAdvancedQuery: Bool { expansion?.levels != nil }

    /// All of it, for the address of one person.
    var options: String {
        ([selectOption] + [expandOption].compactMap { $0 } + (needsAdvancedQuery ? ["$count=true"] : []))
            .joined(separator: "&")
    }
}
