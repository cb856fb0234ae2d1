import CommandLineKit
import DirectorySearch

/// The state of the browser: a value that handles events and returns effects.
///
/// It does not wait, read a clock or draw, so tests need no terminal, network or time. ``BrowseBehavior`` adds the
/// drawing.
package struct BrowseModel: Sendable {
    /// A part of the screen that can have the focus.
    enum Pane: Hashable, Sendable, CaseIterable { case query, list, detail }

    /// A view over the panes that has the focus while it is open.
    enum Overlay: Sendable {
        case copyMenu([CopyChoice], selected: Int)
        case accounts(selected: Int)
        case signIn(SignInUnderWay)
        case log(up: Int)
        case help(down: Int)
        /// The prompt for the export file of the marked users.
        case export(QueryText)
    }

    /// A message about a result or an error. The next key removes it.
    struct Notice: Hashable, Sendable {
        var text: String
        var style: ScreenStyle
        /// Whether the message disappears when the pending result arrives.
        var isUntilResult = false
    }

    /// The scheduled or sent search.
    struct Search: Sendable {
        var due: Duration?
        /// The pending search.
        var running: (number: Int, text: String)?
        /// The number of the last search sent, whose pages can be requested.
        var live: Int?
        var failure: BrowseFailure?
        /// The last offline search, until the directory returns results.
        ///
        /// Counts down, so that no search has the same number.
        var localPreview: (number: Int, text: String)?
        var lastLocalPreview = 0
    }

    /// The delay after a key before a request is sent.
    static let debounce: Duration = .milliseconds(150)
    static let minimumLetters = 2
    static let maximumLogLines = 500

    /// Whether the terminal shows pictures, so that photos load automatically.
    let showsPictures: Bool
    /// The account types that have a directory.
    let types: [String]
    /// Whether only the offline copy is searched.
    let isOffline: Bool
    /// The line below users of an incomplete offline copy.
    let incompleteNote: String
    /// The picker, if the user chooses users for another program.
    let picker: BrowsePicker?

    // Screen
    var size = ScreenSize(columns: 80, rows: 24)
    var focus = Pane.query
    var overlay: Overlay?
    var notice: Notice?
    var query: QueryText
    var list = ResultList()
    var detail = DetailPane()
    var details = RecentDetails()
    var photos = RecentPhotos()
    var log: [String] = []

    // History
    var past: [HistoryEntry] = []
    var future: [HistoryEntry] = []
    /// Whether the list or the detail had the focus since the text was typed, so that the view belongs in the history.
    var isVisited = false

    // Requests
    var search = Search()
    var jump: Jump?
    /// The end of the delay that the directory requires.
    var delayEnd: Duration?
    var lastNumber = 0
    var copying: String?

    // Accounts
    /// `nil` until ``BrowseEvent/accounts(_:current:)`` arrives.
    var accounts: [BrowseAccount]?
    var current: BrowseAccount.ID?
    /// The accounts whose token the directory rejected last. The store may not know this.
    var rejectedAccounts: Set<BrowseAccount.ID> = []
    var marked: [ResultList.Row] = []
    var markedIDs: Set<String> = []

    var now: Duration = .zero
    private var effects: [BrowseEffect] = []
    private var announcedWake: Duration?

    /// Creates a browser without events.
    ///
    /// - Parameters:
    ///   - text: the first search text; may be empty.
    ///   - types: the account types that have a directory. Each of several has its own sign-in.
    ///   - showsPictures: whether the terminal can show pictures; otherwise a key requests a photo, drawn with blocks.
    ///   - isOffline: whether only the offline copy is searched.
    ///   - incompleteNote: the line below the users of an incomplete copy.
    ///   - picker: the choice of users for another program; `nil` to browse only.
    package init(
        text: String = "", types: [String] = [], showsPictures: Bool = false, isOffline: Bool = false,
        incompleteNote: String = "Not complete.", picker: BrowsePicker? = nil
    ) {
        query = QueryText(text)
        self.types = types
        self.showsPictures = showsPictures
        self.isOffline = isOffline
        self.incompleteNote = incompleteNote
        self.picker = picker
        detail.showsPhoto = showsPictures
    }

    /// Handles an event and returns the effects. `now` is the time since the start and never decreases.
    mutating func update(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect] {
        self.now = max(self.now, now)
        effects = []
        take(event)
        requestNextPage()
        followSelection()
        announceWake()
        defer { effects = [] }
        return effects
    }

    private mutating func take(_ event: BrowseEvent) {
        switch event {
        case .key(let key): press(key)
        case .resized(let size): self.size = size
        case .tick: tick()
        case .resumed: emit(.redraw)
        case .accounts(let accounts, let current): take(accounts, current)
        case .users(let number, let page): take(page, number)
        case .localPreview(let number, let users): take(users, localPreview: number)
        case .detail(let number, let result): take(result, number)
        case .photo(let number, let photo): take(photo, number)
        case .failed(let number, let failure): take(failure, number)
        case .signIn(let number, let progress): take(progress, number)
        case .copied(let text, let tool): takeCopied(text, tool)
        case .copyFailed(let reason): say("This was not copied: \(reason.visible).", .failure)
        case .exported(let count, let file):
            if case .export = overlay { overlay = nil }
            say("Wrote \(counted(count, "user", "users")) to \(file.visible).", .good)
        // The prompt stays open for another name.
        case .exportFailed(let reason): say("\(reason.visible).", .failure)
        case .logged(let line):
            log.append(line.visible)
            if log.count > Self.maximumLogLines { log.removeFirst(log.count - Self.maximumLogLines) }
        }
    }

    mutating func emit(_ effect: BrowseEffect) { effects.append(effect) }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func say(_ text: String, _ style: ScreenStyle = .plain) { notice = Notice(text: text, style: style) }

    /// Removes a notice about a pending result.
    mutating func clearWaitingNotice() { if notice?.isUntilResult == true { notice = nil } }

    var layout: BrowseLayout { BrowseLayout(size) }

    var isTooSmall: Bool { size.columns < BrowseLayout.smallest.columns || size.rows < BrowseLayout.smallest.rows }

    func counted(_ count: Int, _ one: String, _ many: String) -> String {
        count == 1 ? "1 \(one)" : "\(Self.grouped(count)) \(many)"
    }

    static func grouped(_ number: Int) -> String {
        let digits = String(number)
        var result = ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position) % 3 == 0 { result.append(",") }
            result.append(digit)
        }
        return result
    }
}

// MARK: Time

extension BrowseModel {
    private mutating func tick() {
        announcedWake = nil
        if let until = delayEnd, until <= now { delayEnd = nil }
        guard delayEnd == nil else { return }
        if let due = search.due, due <= now { sendSearch() }
        if let due = detail.due, due <= now, !isWaiting { sendDetail() }
    }

    /// Requests the next tick, unless it is already requested.
    private mutating func announceWake() {
        var times: [Duration] = []
        if let due = search.due { times.append(due) }
        if let due = detail.due, !isWaiting { times.append(max(due, delayEnd ?? due)) }
        if let until = delayEnd {
            // The time when the countdown changes.
            times.append(until - .seconds(max(0, (until - now).wholeSeconds - 1)))
        }
        guard let next = times.min(), next != announcedWake else { return }
        announcedWake = next
        emit(.wake(at: next))
    }

    /// Delays all requests as the service requires: at least one second, at most one day.
    mutating func delay(for duration: Duration) {
        delayEnd = max(delayEnd ?? now, now + max(.seconds(1), min(duration, .seconds(86_400))))
    }

    var countdown: String? { delaySeconds.map { "The directory limits requests. Next attempt in \($0) s." } }

    var delaySeconds: Int? { delayEnd.map { max(1, Int(clamping: ($0 - now).wholeSeconds)) } }
}
