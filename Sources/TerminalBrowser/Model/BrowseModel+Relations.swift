import CommandLineKit
import DirectorySearch

// MARK: Managers, reports and history

extension BrowseModel {
    /// An entry of the view history.
    struct HistoryEntry: Sendable {
        var query: QueryText
        var list: ResultList
        var focus: Pane
        var scroll: Int
        var showsGroups: Bool
    }

    /// A requested list of users that replaces the list when it arrives.
    struct Jump: Sendable {
        enum Kind: Hashable, Sendable { case manager, reports }
        var kind: Kind
        var id: String
        /// The name of the user, for messages.
        var name: String
        /// The number of the pending request, or `nil` if the user's detail contains the result.
        var number: Int?
        /// Whether the list already shows these users and is being reloaded.
        var isReload = false
    }

    static let maximumHistoryEntries = 50
    static let maximumUsersInHistory = 40_000

    /// Saves the current view, so that `[` returns to it.
    mutating func remember(query: QueryText? = nil) {
        past.append(historyEntry(query: query))
        future = []
        while past.count > Self.maximumHistoryEntries
            || past.count > 1 && past.reduce(0, { $0 + $1.list.rows.count }) > Self.maximumUsersInHistory
        {
            past.removeFirst()
        }
    }

    private func historyEntry(query: QueryText? = nil) -> HistoryEntry {
        HistoryEntry(
            query: query ?? self.query, list: list, focus: focus, scroll: detail.scroll,
            showsGroups: detail.showsGroups)
    }

    /// Goes back or forward in the history.
    mutating func travel(back: Bool) {
        guard let target = back ? past.last : future.last else {
            return say(back ? "There is nothing to go back to." : "There is nothing to go forward to.")
        }
        let here = historyEntry()
        if back {
            past.removeLast()
            future.append(here)
        } else {
            future.removeLast()
            past.append(here)
        }
        stopJump()
        stopSearch()
        search.failure = nil
        query = target.query
        list = target.list
        focus = target.focus == .query ? .list : target.focus
        isVisited = true
        followSelection()
        (detail.scroll, detail.showsGroups) = (target.scroll, target.showsGroups)
        if detail.showsGroups, known?.detail.groups.isKnown != true { detail.showsGroups = false }
    }

    /// Cancels the requested list.
    mutating func stopJump() {
        if let number = jump?.number { emit(.cancel(number)) }
        jump = nil
    }

    /// Goes to the manager or the reports of the selected user.
    mutating func goTo(_ kind: Jump.Kind) {
        if isForOtherText { return saySearching() }
        guard let row = list.selection, !row.id.isEmpty else { return sayNoUser() }
        let known = details[row.id]
        if kind == .manager, known?.isWhole != true {
            // The detail of the user contains the manager.
            begin(Jump(kind: kind, id: row.id, name: row.name), sendsRequest: false)
            sendDetail()
        } else if kind == .manager || known?.detail.reports.isKnown == true {
            stopJump()
            jump = Jump(kind: kind, id: row.id, name: row.name)
            finishJump()
        } else {
            begin(Jump(kind: kind, id: row.id, name: row.name), sendsRequest: true)
        }
    }

    private mutating func begin(_ new: Jump, sendsRequest: Bool) {
        stopJump()
        var new = new
        if sendsRequest { new.number = nextNumber() }
        jump = new
        switch new.kind {
        case .manager:
            say("Asking for the manager of \(new.name)…", .dimmed)
            if let number = new.number { emit(.detail(number, id: new.id)) }
        case .reports:
            say("Asking who reports to \(new.name)…", .dimmed)
            if let number = new.number { emit(.reports(number, id: new.id)) }
        }
    }

    /// Reloads a list of reports or a manager. Returns `false` if the list shows search results.
    mutating func reloadRelations() -> Bool {
        switch list.origin {
        case .reports(let name, let id):
            begin(Jump(kind: .reports, id: id, name: name, isReload: true), sendsRequest: true)
        case .manager(let name, let id):
            begin(Jump(kind: .manager, id: id, name: name, isReload: true), sendsRequest: true)
        case .nothing, .search: return false
        }
        return true
    }

    /// Shows the requested manager or reports as the list.
    mutating func finishJump() {
        guard let jump, let detail = details[jump.id]?.detail else { return self.jump = nil }
        self.jump = nil
        let name = jump.name
        switch jump.kind {
        case .manager:
            switch detail.manager {
            case .value(let user): show([user], .manager(of: name, id: jump.id), isReload: jump.isReload)
            case .none: say("\(name) has no manager.")
            case .notRequested: say("The directory did not return the manager of \(name).", .warning)
            case .notPermitted(let error):
                say("The manager of \(name): \(Self.words(error)). a signs in.", .failure)
            case .failed(let error): say("The manager of \(name): \(Self.words(error)). R tries again.", .failure)
            }
        case .reports:
            switch detail.reports {
            case .value(let users) where !users.isEmpty:
                show(users.map { User(json: $0.json) }, .reports(of: name, id: jump.id), isReload: jump.isReload)
            case .value, .none: say("\(name) has no direct reports.")
            case .notRequested: say("The directory did not return the reports of \(name).", .warning)
            case .notPermitted(let error): say("Reports of \(name): \(Self.words(error)). a signs in.", .failure)
            case .failed(let error):
                say("Reports of \(name): \(Self.words(error)). \(jump.isReload ? "R" : "r") tries again.", .failure)
            }
        }
    }

    private mutating func show(_ users: [User], _ origin: ResultList.Origin, isReload: Bool) {
        if isReload {
            list.replace(
                with: BrowsePage(users: users, hasMore: false, source: list.source, isContinuation: false), origin)
            notice = nil
            return
        }
        remember()
        stopSearch()
        search.failure = nil
        list = ResultList(users, origin)
        isVisited = true
        notice = nil
        if focus == .query { focus = .list }
    }

    static func words(_ error: DirectoryError) -> String {
        guard case .notPermitted(let permissions) = error.kind else { return error.summary.visible }
        guard !permissions.isEmpty else { return "not permitted" }
        return ("not permitted without " + permissions.joined(separator: " or ")).visible
    }
}
