/// A query for all users, and then only for new, changed and removed ones: `/users/delta`.
///
/// Each response has a link to the next one: first to the next page of the list, then to the changes since.
/// ``DirectorySync`` follows the links. The selection applies to the whole chain.
package struct DeltaQuery: Sendable, Equatable {
    /// The properties to load and to watch, by Graph's names. Never empty and without properties of related users.
    package var select: [String]
    /// The identifiers of the users; empty for all users.
    package var identifiers: [String] = []
    /// Whether the chain starts with future changes, without a list of all users.
    package var startsNow = false
    /// Whether a change contains only the changed properties, not all selected ones.
    package var isMinimal = false

    /// Creates a query for all users and their changes.
    package init(select: [String] = UserQuery.defaultProperties) { self.select = select }

    /// The preference of a request for changed properties only. See RFC 7240 section 4.2.
    static let minimal = "return=minimal"

    /// The permissions for any property: the permission for basic properties does not include changes.
    static let permissions = ["User.Read.All", "Directory.Read.All"]

    /// Returns the first request of the chain.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` if the service would reject it.
    package func plan() throws(DirectoryError) -> QueryPlan {
        let selection = try Selection(select)
        if let expansion = selection.expansion {
            throw .invalidQuery("changes do not tell the \(expansion.relation); ask for each person's")
        }
        try selection.checkForLists()
        var options = [selection.selectOption]
        if !identifiers.isEmpty {
            let filter = identifiers.map { "id eq " + ODataEscaping.literal($0) }.joined(separator: " or ")
            guard identifiers.count <= 50, !identifiers.contains(where: \.isBlank) else {
                throw .invalidQuery("the changes of 1 to 50 users can be requested by their identifiers")
            }
            options.append("$filter=" + ODataEscaping.queryValue(filter))
        }
        if startsNow { options.append("$deltatoken=latest") }
        return QueryPlan(
            target: "users/delta?" + options.joined(separator: "&"), advancedReasons: [], resourceUnits: 1,
            permissions: Self.permissions, preference: isMinimal ? Self.minimal : nil)
    }
}
