import DirectorySearch

/// What is known of people whose detail was shown: of the last two hundred, so that going back to one costs nothing.
struct RecentDetails: Sendable {
    struct Known: Sendable {
        var detail: UserDetail
        /// Whether the person was asked for, not only their reports or groups.
        var isWhole: Bool
        fileprivate var lastUse: Int
    }

    /// How many people are kept; who was not looked at for the longest time goes.
    static let maximumCount = 200

    private var known: [String: Known] = [:]
    private var uses = 0

    subscript(id: String) -> Known? { known[id] }

    var count: Int { known.count }

    /// Says that the person is looked at.
    mutating func touch(_ id: String) {
        uses += 1
        known[id]?.lastUse = uses
    }

    /// Keeps an answer about a person: what it says goes before what was known, and what it was not asked for stays.
    mutating func save(_ result: UserDetail, for id: String, isWhole: Bool) {
        uses += 1
        var entry = known[id] ?? Known(detail: result, isWhole: false, lastUse: uses)
        if isWhole { entry.detail.user = result.user }
        entry.isWhole = entry.isWhole || isWhole
        entry.lastUse = uses
        if result.manager != .notRequested { entry.detail.manager = result.manager }
        if result.reports != .notRequested { entry.detail.reports = result.reports }
        if result.groups != .notRequested { entry.detail.groups = result.groups }
        if result.photo != .notRequested { entry.detail.photo = result.photo }
        known[id] = entry
        if known.count > Self.maximumCount, let oldest = known.min(by: { $0.value.lastUse < $1.value.lastUse }) {
            known[oldest.key] = nil
        }
    }
}
