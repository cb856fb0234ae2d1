/// The path of one user below the base.
struct UserPath: Sendable {
    /// The path, percent-encoded.
    let text: String
    private let name: String

    /// Creates the path of an identifier or a sign-in name.
    ///
    /// A sign-in name that starts with `$`, or equals the name of an operation, becomes a key in parentheses, because
    /// Graph would treat it as a segment.
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

    /// Returns the query for the users with this mail address, or `nil` if it cannot be a mail address.
    func mailQuery(select: [String]) -> UserQuery? {
        // Graph accepts at most 120 characters in a default `eq`.
        guard name.contains("@"), name.utf8.count <= 120 else { return nil }
        return UserQuery(.property(.mail, equals: name), select: select, limit: 2)
    }
}
