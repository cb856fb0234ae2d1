import CommandLineKit
import DirectorySearch

// MARK: Going to the manager and the reports, and back

extension BrowseModel {
    /// A place that can be gone back to.
    struct HistoryEntry: Sendable {
        var query: QueryText
        var list: ResultList
        var focus: Pane
        var scroll: Int
        var showsGroups: Bool
    }

    /// People whom a key asked for and who replace the list when they come.
    struct Jump: Sendable {
        enum Kind: Hashable, Sendable { case manager, reports }
        var kind: Kind
        var id: String
        /// The name to speak of that person by.
        var name: String
        /// The question whose answer is awaited; nil where the person's detail has the answer.
        var number: Int?
        /// Whether the list is theirs already, and is read anew.
        var isAnew = false
    }

    static let maximumHistoryEntries = 50
    static let maximumUsersInHistory = 40_000

    /// Keeps what is shown, so that `[` comes back to it.
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

    /// Goes to the place before this one, or to the one that was left that way.
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

    /// People who were asked for by a key are not wanted any more.
    mutating func stopJump() {
        if let number = jump?.number { want(.cancel(number)) }
        jump = nil
    }

    // MARK: Manager

    mutating func goToManager() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection, !row.id.isEmpty else { return sayNobody() }
        stopJump()
        jump = Jump(kind: .manager, id: row.id, name: row.name)
        if details[row.id]?.isWhole == true { return showManager() }
        say("Asking for the manager of \(row.name)…", .dimmed)
        sendDetail()
    }

    /// The manager of the person in the pane becomes the list.
    mutating func showManager() {
        guard let jump, let manager = details[jump.id]?.detail.manager else { return self.jump = nil }
        self.jump = nil
        let name = jump.name
        switch manager {
        case .value(let user): show([user], .manager(of: name, id: jump.id), isAnew: jump.isAnew)
        case .none: say("\(name) has no manager.")
        case .notAsked: say("The manager of \(name) is not known here.", .warning)
        case .notPermitted(let error):
            say("The manager of \(name): \(Self.words(error)). a signs in anew.", .failure)
        case .failed(let error):
            say("The manager of \(name): \(Self.words(error)). R tries again.", .failure)
        }
    }

    // MARK: Reports

    mutating func goToReports() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection, !row.id.isEmpty else { return sayNobody() }
        stopJump()
        if details[row.id]?.detail.reports.isKnown == true {
            jump = Jump(kind: .reports, id: row.id, name: row.name)
            return showReports()
        }
        let number = nextNumber()
        jump = Jump(kind: .reports, id: row.id, name: row.name, number: number)
        say("Asking who reports to \(row.name)…", .dimmed)
        want(.reports(number, id: row.id))
    }

    /// Those who report to the person in the pane become the list.
    mutating func showReports() {
        guard let jump, let reports = details[jump.id]?.detail.reports else { return self.jump = nil }
        self.jump = nil
        let name = jump.name
        switch reports {
        case .value(let people) where !people.isEmpty:
            show(people.map { User(json: $0.json) }, .reports(of: name, id: jump.id), isAnew: jump.isAnew)
        case .value, .none: say("Nobody reports to \(name).")
        case .notAsked: say("Who reports to \(name) is not known here.", .warning)
        case .notPermitted(let error): say("Reports of \(name): \(Self.words(error)). a signs in anew.", .failure)
        case .failed(let error):
            say("Reports of \(name): \(Self.words(error)). \(jump.isAnew ? "R" : "r") tries again.", .failure)
        }
    }

    /// Reads reports or a manager that are the list anew. False: the list is that of a search.
    mutating func readAroundAnew() -> Bool {
        switch list.origin {
        case .reports(let name, let id):
            stopJump()
            let number = nextNumber()
            jump = Jump(kind: .reports, id: id, name: name, number: number, isAnew: true)
            say("Asking who reports to \(name)…", .dimmed)
            want(.reports(number, id: id))
        case .manager(let name, let id):
            stopJump()
            let number = nextNumber()
            jump = Jump(kind: .manager, id: id, name: name, number: number, isAnew: true)
            say("Asking for the manager of \(name)…", .dimmed)
            want(.detail(number, id: id))
        case .nothing, .search: return false
        }
        return true
    }

    private mutating func show(_ people: [User], _ origin: ResultList.Origin, isAnew: Bool) {
        if isAnew {
            list.replace(
                with: BrowsePage(people: people, hasMore: false, source: list.source, isContinuation: false), origin)
            notice = nil
            return
        }
        remember()
        stopSearch()
        search.failure = nil
        list = ResultList(people, origin)
        isVisited = true
        notice = nil
        if focus == .query { focus = .list }
    }

    /// Why a part is not known, in few words.
    static func words(_ error: DirectoryError) -> String {
        guard case .notPermitted(let permissions) = error.kind else { return TerminalText.visible(error.summary) }
        guard !permissions.isEmpty else { return "not permitted" }
        return TerminalText.visible("not permitted without " + permissions.joined(separator: " or "))
    }
}
