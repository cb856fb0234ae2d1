/// The path of one user below the base.
struct UserPath: Sendable {
    /// The path, percent-encoded.
    let text: String
    private let name: String

    /// Creates the path of an identifier or a sign-in name.
    ///
    /// The path contains a sign-in name that starts with `$`, or is the name of an operation, as a key in parentheses: Graph
    /// reads it as a segment otherwise.
    init(_ identifierOrName: String) throws(DirectoryError) {
        try identifierOrName.checkIsName()
        name = identifierOrName
        let folded = identifierOrName.lowercased()
        if folded.hasPrefix("$") || folded == "delta" || folded.hasPrefix("microsoft.graph.") {
            text = "users" + ODataEscaping.pathKey(identifierOrName)
        } else {
            text = "users/" + ODataEscaping.pathSegment(identifierOrName)
        }
    }

    /// Returns the query for the users with this mail address; `nil` if it cannot be one.
    func mailQuery(select: [String]) -> UserQuery? {
        // Graph accepts at most 120 characters in a default `eq`.
        guard name.contains("@"), name.utf8.count <= 120 else { return nil }
        return UserQuery(.property(.mail, equals: name), select: select, limit: 2)
    }
}
