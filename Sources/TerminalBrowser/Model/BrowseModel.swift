import CommandLineKit
import DirectorySearch

/// The state of the browser: a value that takes events and returns effects. It waits for nothing, reads no clock and draws nothing,
/// so that tests need no terminal, network or time. ``BrowseBehaviour`` adds its drawing.
package struct BrowseModel: Sendable {
    /// A part of the screen that can have the keys.
    enum Pane: Hashable, Sendable, CaseIterable { case query, list, detail }

    /// What lies over the panes and has the keys while it does.
    enum Overlay: Sendable {
        case copyMenu([CopyChoice], selected: Int)
        case accounts(selected: Int)
        case signIn(SignInUnderWay)
        case log(up: Int)
        case help(down: Int)
        /// The name of the file for the marked users.
        case export(QueryText)
    }

    /// A sentence about what was just done or went wrong. The next key takes it away.
    struct Notice: Hashable, Sendable {
        var text: String
        var style: ScreenStyle
        /// Whether it speaks of an answer that is awaited, and goes when that comes.
        var isUntilResult = false
    }

    /// The search that will be or was sent.
    struct Search: Sendable {
        var due: Duration?
        /// The one whose answer is awaited.
        var running: (number: Int, text: String)?
        /// The one whose pages can be asked for: the last that was sent.
        var live: Int?
        var failure: BrowseFailure?
        /// The last look into the copy on this machine, until the directory has spoken. Counted downwards: no search has its number.
        var localPreview: (number: Int, text: String)?
        var lastLocalPreview = 0
    }

    /// How long the keys or the cursor rest before something is asked for.
    static let debounce: Duration = .milliseconds(150)
    static let minimumLetters = 2
    static let maximumLogLines = 500

    /// Whether the terminal shows pictures, so that photos come by themselves.
    let showsPictures: Bool
    /// The types of accounts that have a directory.
    let types: [String]
    /// Whether only the copy on this machine is asked.
    let isOffline: Bool
    /// The line below the users of a copy on this machine that is not complete.
    let incompleteNote: String
    /// Whether the user chooses users for another program.
    let picker: BrowsePicker?

    // What is on the screen.
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

    // What can be gone back to.
    var past: [HistoryEntry] = []
    var future: [HistoryEntry] = []
    /// Whether the list or the detail had the keys since the text was typed, so that it is worth going back to.
    var isVisited = false

    // What is asked for.
    var search = Search()
    var jump: Jump?
    /// Until when the directory wants no requests.
    var delayEnd: Duration?
    var lastNumber = 0
    var copying: String?

    // Whom for.
    /// Nil until the accounts were told.
    var accounts: [BrowseAccount]?
    var current: BrowseAccount.ID?
    /// The accounts whose sign-in the directory did not accept when it was asked last. The store may know nothing of it.
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

    /// Updates the state and returns the effects. `now` is the time since the start, which never goes back.
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
        // The prompt stays, for another name.
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

    /// What was said of an answer that has come now is not true any more.
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

    /// Wishes for the next tick, if there is anything to wait for that was not wished for yet.
    private mutating func announceWake() {
        var times: [Duration] = []
        if let due = search.due { times.append(due) }
        if let due = detail.due, !isWaiting { times.append(max(due, delayEnd ?? due)) }
        if let until = delayEnd {
            // When the countdown shows the next number.
            times.append(until - .seconds(max(0, Self.wholeSeconds(until - now) - 1)))
        }
        guard let next = times.min(), next != announcedWake else { return }
        announcedWake = next
        emit(.wake(at: next))
    }

    static func wholeSeconds(_ duration: Duration) -> Int {
        let (seconds, rest) = duration.components
        return Int(clamping: seconds) + (rest > 0 ? 1 : 0)
    }

    /// No request until the service wants some again: at least a second, at most a day.
    mutating func delay(for duration: Duration) {
        delayEnd = max(delayEnd ?? now, now + max(.seconds(1), min(duration, .seconds(86_400))))
    }

    var countdown: String? { delaySeconds.map { "The directory asks for a pause: again in \($0) s." } }

    var delaySeconds: Int? { delayEnd.map { max(1, Self.wholeSeconds($0 - now)) } }
}
