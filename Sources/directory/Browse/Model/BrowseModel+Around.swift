import DirectorySearch

// MARK: Going to the manager and the reports, and back

extension BrowseModel {
    /// A place that can be gone back to.
    struct Place: Sendable {
        var query: QueryText
        var list: PeopleList
        var focus: Pane
        var scroll: Int
        var showsGroups: Bool
    }

    /// People whom a key asked for and who replace the list when they come.
    struct Jump: Sendable {
        /// Who.
        enum Kind: Hashable, Sendable { case manager, reports }
        var kind: Kind
        /// Whose.
        var id: String
        /// The question whose answer is awaited; nil where the person's detail has the answer.
        var number: Int?
    }

    /// How many places are kept, and how many people in all of them.
    static let mostPlaces = 50
    static let mostPeopleInPast = 40_000

    /// Keeps what is shown, so that `[` comes back to it.
    mutating func remember(query: QueryText? = nil) {
        past.append(place(query: query))
        future = []
        while past.count > Self.mostPlaces
            || past.count > 1 && past.reduce(0, { $0 + $1.list.rows.count }) > Self.mostPeopleInPast
        {
            past.removeFirst()
        }
    }

    private func place(query: QueryText? = nil) -> Place {
        Place(
            query: query ?? self.query, list: list, focus: focus, scroll: detail.scroll,
            showsGroups: detail.showsGroups)
    }

    /// Goes to the place before this one, or to the one that was left that way.
    mutating func travel(back: Bool) {
        guard let target = back ? past.last : future.last else {
            return say(back ? "There is nothing to go back to." : "There is nothing to go forward to.")
        }
        let here = place()
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
        jump = Jump(kind: .manager, id: row.id, number: nil)
        if details[row.id]?.isWhole == true { return showManager() }
        say("Asking for the manager of \(row.name)…", .dimmed)
        sendDetail()
    }

    /// The manager of the person in the pane becomes the list.
    mutating func showManager() {
        jump = nil
        guard let row = list.selection, let manager = details[row.id]?.detail.manager else { return }
        switch manager {
        case .value(let user): show([user], .manager(of: row.name))
        case .none: say("\(row.name) has no manager.")
        case .notAsked: say("The manager of \(row.name) is not known here.", .warning)
        case .notPermitted(let error):
            say("The manager of \(row.name): \(Self.words(error)). a signs in anew.", .failure)
        case .failed(let error):
            say("The manager of \(row.name): \(Self.words(error)). R tries again.", .failure)
        }
    }

    // MARK: Reports

    mutating func goToReports() {
        if isForOtherText { return saySearching() }
        guard let row = list.selection, !row.id.isEmpty else { return sayNobody() }
        stopJump()
        if details[row.id]?.detail.reports.isKnown == true {
            jump = Jump(kind: .reports, id: row.id, number: nil)
            return showReports()
        }
        let number = nextNumber()
        jump = Jump(kind: .reports, id: row.id, number: number)
        say("Asking who reports to \(row.name)…", .dimmed)
        want(.reports(number, id: row.id))
    }

    /// Those who report to the person in the pane become the list.
    mutating func showReports() {
        jump = nil
        guard let row = list.selection, let reports = details[row.id]?.detail.reports else { return }
        switch reports {
        case .value(let people) where !people.isEmpty:
            show(people.map { User(json: $0.json) }, .reports(of: row.name))
        case .value, .none: say("Nobody reports to \(row.name).")
        case .notAsked: say("Who reports to \(row.name) is not known here.", .warning)
        case .notPermitted(let error): say("Reports of \(row.name): \(Self.words(error)). a signs in anew.", .failure)
        case .failed(let error): say("Reports of \(row.name): \(Self.words(error)). r tries again.", .failure)
        }
    }

    private mutating func show(_ people: [User], _ origin: PeopleList.Origin) {
        remember()
        stopSearch()
        search.failure = nil
        list = PeopleList(people, origin)
        isVisited = true
        notice = nil
        if focus == .query { focus = .list }
    }

    /// Why a part is not known, in few words.
    static func words(_ error: DirectoryError) -> String {
        guard case .notPermitted(let permissions) = error.kind else { return DisplayText.visible(error.summary) }
        guard !permissions.isEmpty else { return "not permitted" }
        return DisplayText.visible("not permitted without " + permissions.joined(separator: " or "))
    }
}
