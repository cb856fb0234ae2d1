/// Everybody, and from then on only who is new, changed or gone: `/users/delta`.
///
/// The answers lead to each other: page after page to the end of the list, then to the changes since. ``DirectorySync`` walks through
/// them. What is selected holds for the whole chain.
public struct DeltaQuery: Sendable, Equatable {
    /// The properties to be told, and whose changes count, by Graph's own names. Never empty, and without related people.
    public var select: [String]
    /// Only these people, by identifier; empty for everybody.
    public var identifiers: [String] = []
    /// Whether the list of everybody is left out, and only what changes from now on is told.
    public var startsNow = false
    /// Whether only what changed about somebody is wanted, and not all that is selected.
    public var isMinimal = false

    /// Everybody and what changes about them.
    public init(select: [String] = UserQuery.defaultProperties) { self.select = select }

    /// The preference of a request of which only changes are wanted. RFC 7240 section 4.2
    static let minimal = "return=minimal"

    /// The first request of the chain.
    ///
    /// - Throws: ``DirectoryError`` of the kind `invalidQuery` when the service would refuse it.
    public func plan() throws(DirectoryError) -> QueryPlan {
        let selection = try Selection(select)
        if let expansion = selection.expansion {
            throw DirectoryError(.invalidQuery("changes do not tell the \(expansion.relation); ask for each person's"))
        }
        try selection.checkForLists()
        var options = [selection.selectOption]
        if !identifiers.isEmpty {
            let filter = identifiers.map { "id eq " + ODataEscaping.literal($0) }.joined(separator: " or ")
            guard identifiers.count <= 50, !identifiers.contains(where: \.isBlank) else {
                throw DirectoryError(.invalidQuery("changes are told of 1 to 50 people by their identifiers"))
            }
            options.append("$filter=" + ODataEscaping.queryValue(filter))
        }
        if startsNow { options.append("$deltatoken=latest") }
        return QueryPlan(
            target: "users/delta?" + options.joined(separator: "&"), advancedReasons: [], resourceUnits: 1,
            // Whatever is read: the permission for basic properties does not open the changes.
            permissions: ["User.Read.All", "Directory.Read.All"], preference: isMinimal ? Self.minimal : nil)
    }
}
