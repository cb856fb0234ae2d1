/// A sort criterion.
public struct UserOrder: Sendable, Equatable {
    /// The property to sort by.
    ///
    /// `displayName` or `userPrincipalName`, or, with an advanced query, `createdDateTime` or `deletedDateTime`.
    public var property: UserProperty
    /// Whether the order is descending.
    public var isDescending: Bool

    /// Creates an order.
    public init(property: UserProperty, isDescending: Bool = false) {
        self.property = property
        self.isDescending = isDescending
    }

    /// Returns an ascending order.
    public static func ascending(_ property: UserProperty) -> UserOrder {
        UserOrder(property: property)
    }
    /// Returns a descending order.
    public static func descending(_ property: UserProperty) -> UserOrder {
        UserOrder(property: property, isDescending: true)
    }

    var odata: String { isDescending ? "\(property) desc" : property.rawValue }
}

/// The selected properties of the user and of a related user.
struct Selection: Sendable, Equatable {
    /// The names in `$select`, without duplicates.
    private(set) var properties: [String] = []
    /// The value of `$expand`.
    private(set) var expansion: UserExpansion?

    /// Creates a selection.
    ///
    /// - Parameter select: The names; `manager.displayName` is a property of a related user, `employeeOrgData.division`
    ///   selects the object that contains it.
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery`.
    init(_ select: [String], expanding expansion: UserExpansion? = nil) throws(DirectoryError) {
        self.expansion = expansion
        guard !select.isEmpty else { throw .invalidQuery("no property is selected") }
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
        // Without a selection, the service would return all of its default properties.
        if properties.isEmpty { properties = ["id"] }
    }

    /// Throws for properties that the service returns only for a single user.
    func checkForLists() throws(DirectoryError) {
        for name in properties where PropertySupport.singleUserOnly.contains(name) {
            throw .invalidQuery(
                "the service returns \(name) for one user only, not in a list; request each user separately")
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

    /// The option `$select=…`.
    var selectOption: String { "$select=" + ODataEscaping.queryValue(properties.joined(separator: ",")) }

    /// The option `$expand=…`, or `nil` without an expansion.
    var expandOption: String? { expansion.map { "$expand=" + ODataEscaping.queryValue($0.odata) } }

    /// Whether the expansion needs `ConsistencyLevel: eventual` and `$count=true`.
    var needsAdvancedQuery: Bool { expansion?.levels != nil }

    /// All options for the URL of one user.
    var options: String {
        ([selectOption] + [expandOption].compactMap { $0 } + (needsAdvancedQuery ? ["$count=true"] : []))
            .joined(separator: "&")
    }
}
