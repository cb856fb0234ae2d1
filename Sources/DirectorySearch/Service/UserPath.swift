/// Where one person is, below the base.
struct UserPath: Sendable {
    /// The path, percent-encoded.
    let text: String
    private let name: String

    /// The path of an identifier or a sign-in name.
    ///
    /// A sign-in name that begins with `$`, and a word that is an operation of its own, stand as a key in parentheses; a
    /// segment would be taken for something else.
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

    /// The query for the people with this mail address; nil when it cannot be one.
    func mailQuery(select: [String]) -> UserQuery? {
        // Graph takes at most 120 characters in a default `eq`.
        guard name.contains("@"), name.utf8.count <= 120 else { return nil }
        return UserQuery(.property(.mail, equals: name), select: select, limit: 2)
    }
}
