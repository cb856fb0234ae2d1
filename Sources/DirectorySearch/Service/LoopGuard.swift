/// A guard that ends a list whose links repeat or whose pages do not end.
struct LoopGuard: Sendable {
    /// The maximum number of consecutive pages without a new element. A filter can exclude all users of many pages.
    static let maximumPagesWithoutNew = 1000
    /// The maximum number of pages of one list.
    static let maximumPages = 1_000_000
    /// The maximum number of recorded URLs. A longer loop is found in its next round.
    static let maximumURLs = 100_000
    /// The maximum number of users of one search. Microsoft Entra allows 5,250,000 objects in a tenant.
    static let maximumUsers = 10_000_000
    /// The maximum number of reports or groups of one user.
    static let maximumRelations = 100_000

    private let maximumElements: Int
    /// Hashes instead of URLs: a long listing has thousands of URLs with hundreds of bytes each.
    private var seen: Set<Int> = []
    private var pages = 0
    private var elements = 0
    private var pagesWithoutNew = 0

    init(maximumElements: Int = Self.maximumUsers) { self.maximumElements = maximumElements }

    /// Checks the URL of a page before its request.
    mutating func enter(_ url: String) throws(DirectoryError) {
        if seen.count >= Self.maximumURLs { seen.removeAll(keepingCapacity: true) }
        guard seen.insert(url.hashValue).inserted else { throw DirectoryError(.endlessPages) }
        pages += 1
        guard pages <= Self.maximumPages else { throw DirectoryError(.endlessPages) }
    }

    /// Restarts the list. Its first pages will have no new elements.
    mutating func restart() {
        seen = []
        pagesWithoutNew = -pages
        pages = 0
    }

    /// Checks a page.
    ///
    /// - Parameter newElements: The number of its elements that no earlier page had.
    mutating func leave(newElements: Int, hasNext: Bool) throws(DirectoryError) {
        guard hasNext else { return }
        elements += newElements
        guard elements < maximumElements else { throw DirectoryError(.tooManyResults(maximum: maximumElements)) }
        pagesWithoutNew = newElements == 0 ? pagesWithoutNew + 1 : 0
        guard pagesWithoutNew < Self.maximumPagesWithoutNew else { throw DirectoryError(.endlessPages) }
    }
}

/// The users that a search has returned, for skipping duplicates after a restart and detecting repeated pages.
struct SeenUsers: Sendable {
    /// The maximum number of recorded users, because memory must not grow with the directory.
    ///
    /// Above it, recording starts again, and a longer loop is found in its next round.
    private static let maximum = 250_000

    private var identities: Set<Int> = []
    /// Whether this contains all returned users.
    private(set) var isComplete = true

    /// Records users, and returns the number of new ones. A user without an identifier is always new.
    mutating func add(_ users: [User]) -> Int {
        var count = 0
        for user in users {
            guard let identity = user.identity else {
                isComplete = false
                count += 1
                continue
            }
            guard identities.insert(identity).inserted else { continue }
            count += 1
            if identities.count > Self.maximum {
                isComplete = false
                identities = [identity]
            }
        }
        return count
    }

    func contains(_ user: User) -> Bool { user.identity.map(identities.contains) ?? false }
}
