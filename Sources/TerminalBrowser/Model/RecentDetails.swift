import DirectorySearch

/// The details of the users shown last, so that going back needs no request.
struct RecentDetails: Sendable {
    struct Known: Sendable {
        var detail: UserDetail
        /// Whether the user was requested, not only the reports or groups.
        var isWhole: Bool
        fileprivate var lastUse: Int
    }

    /// The maximum number of users. The least recently shown one is removed.
    static let maximumCount = 200

    private var known: [String: Known] = [:]
    private var uses = 0

    subscript(id: String) -> Known? { known[id] }

    var count: Int { known.count }

    /// Marks the user as recently shown.
    mutating func touch(_ id: String) {
        uses += 1
        known[id]?.lastUse = uses
    }

    /// Saves a result about a user. Keeps known parts that the result does not contain.
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
