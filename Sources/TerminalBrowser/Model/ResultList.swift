import CommandLineKit
import DirectorySearch

/// The people that are listed, and which of them the cursor is on.
struct ResultList: Sendable {
    enum Origin: Hashable, Sendable {
        /// Nothing is asked for.
        case nothing
        /// They were found for a text, by the search of this number.
        case search(text: String, number: Int)
        /// They report to the person of this name and identifier.
        case reports(of: String, id: String)
        /// It is the manager of the person of this name and identifier.
        case manager(of: String, id: String)
    }

    struct Row: Sendable {
        /// What the person is known by; empty when the directory says neither identifier nor sign-in name.
        var id: String
        var user: User

        /// A row; the identifier is read once, because a list is looked through for it.
        init(_ user: User) {
            self.user = user
            id = user.id ?? user.userPrincipalName ?? user.mail ?? ""
        }

        /// The name to speak of the person by.
        var name: String { TerminalText.cell(user.listName) }
    }

    /// Not more people than these are read: nobody walks through them, and memory has an end.
    static let maximumRows = 20_000

    var origin = Origin.nothing
    private(set) var rows: [Row] = []
    private(set) var hasMore = false
    private(set) var source = BrowseSource.directory
    /// Whether the copy that they come from is not complete yet.
    private(set) var isPartial = false
    /// Whether the directory has spoken: an answer of the copy on this machine is only the first word.
    var isFinal = true
    /// Whether the next page was asked for.
    var isPagePending = false
    var pageFailure: BrowseFailure?
    /// Whether somebody put the cursor where it is: only then it follows the person it is on.
    var isTouched = false
    /// The place of the cursor; 0 in an empty list.
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

    /// Whether there are more people than will be read.
    var isCut: Bool { hasMore && rows.count >= Self.maximumRows }

    /// Replaces the users. A cursor that the user moved follows its user; if that user is gone, it stays at its row for the same
    /// search, and goes to the first row otherwise.
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

    /// Moves the cursor by so many rows, as far as there are some.
    mutating func move(by count: Int) {
        isTouched = true
        selected = max(0, min(rows.count - 1, selected + count))
    }

    /// Scrolls as little as needed for the cursor to be among so many rows, without empty rows below the last.
    mutating func scrollIntoView(_ height: Int) {
        guard height > 0 else { return }
        top = max(selected - height + 1, min(top, selected))
        top = max(0, min(top, rows.count - height))
    }
}
