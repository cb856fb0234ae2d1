import CommandLineKit
import DirectorySearch

/// The listed users and the selection.
struct ResultList: Sendable {
    enum Origin: Hashable, Sendable {
        /// There is no list.
        case nothing
        /// The results of the search for this text. The number distinguishes searches for the same text.
        case search(text: String, number: Int)
        /// The direct reports of the user with this name and identifier.
        case reports(of: String, id: String)
        /// The manager of the user with this name and identifier.
        case manager(of: String, id: String)
    }

    struct Row: Sendable {
        /// The user's identifier, user principal name or mail address; empty if the directory returns none of them.
        var id: String
        var user: User

        /// Creates a row. Stores the identifier, because lookups in the list compare it often.
        init(_ user: User) {
            self.user = user
            id = user.id ?? user.userPrincipalName ?? user.mail ?? ""
        }

        /// The name of the user, for messages.
        var name: String { TerminalText.cell(user.listName) }
    }

    /// The maximum number of users, which limits memory.
    static let maximumRows = 20_000

    var origin = Origin.nothing
    private(set) var rows: [Row] = []
    private(set) var hasMore = false
    private(set) var source = BrowseSource.directory
    /// Whether the users come from an incomplete offline copy.
    private(set) var isPartial = false
    /// Whether the results are final: the directory returned them, or the browser is offline.
    var isFinal = true
    /// Whether a request for the next page is pending.
    var isPagePending = false
    var pageFailure: BrowseFailure?
    /// Whether a key moved the cursor or was pressed outside the query. Only then does the cursor stay on its user.
    var isTouched = false
    /// The position of the cursor; 0 in an empty list.
    private(set) var selected = 0
    private(set) var top = 0

    init() {}

    init(_ users: [User], _ origin: Origin) {
        self.origin = origin
        rows = users.prefix(Self.maximumRows).map(Row.init)
    }

    var selection: Row? { rows.indices.contains(selected) ? rows[selected] : nil }

    var number: Int? { if case .search(_, let number) = origin { number } else { nil } }

    var text: String? { if case .search(let text, _) = origin { text } else { nil } }

    /// Whether there are more users than the list can hold.
    var isCut: Bool { hasMore && rows.count >= Self.maximumRows }

    /// Replaces the users.
    ///
    /// If ``isTouched`` is `true`, the cursor stays on its user. Otherwise, or if the results no longer contain that
    /// user, the cursor keeps its row number for the same origin, and moves to the first row for a different origin.
    mutating func replace(with page: BrowsePage, _ origin: Origin) {
        let before = isTouched ? selection?.id : nil
        let sameSearch = origin == self.origin
        let row = selected - top
        self.origin = origin
        rows = page.users.prefix(Self.maximumRows).map(Row.init)
        (hasMore, source, isPartial) = (page.hasMore, page.source, page.isPartial)
        (isPagePending, pageFailure) = (false, nil)
        let position = before.flatMap { id in id.isEmpty ? nil : rows.firstIndex { $0.id == id } }
        selected = position ?? (sameSearch ? max(0, min(selected, rows.count - 1)) : 0)
        top = position == nil && !sameSearch ? 0 : max(0, selected - row)
    }

    mutating func append(_ page: BrowsePage) {
        rows += page.users.prefix(Self.maximumRows - rows.count).map(Row.init)
        hasMore = page.hasMore
        (isPagePending, pageFailure) = (false, nil)
    }

    /// Moves the cursor by a number of rows, within the list.
    mutating func move(by count: Int) {
        isTouched = true
        selected = max(0, min(rows.count - 1, selected + count))
    }

    /// Scrolls by the minimum that makes the cursor visible, without empty rows below the last.
    mutating func scrollIntoView(_ height: Int) {
        guard height > 0 else { return }
        top = max(selected - height + 1, min(top, selected))
        top = max(0, min(top, rows.count - height))
    }
}
