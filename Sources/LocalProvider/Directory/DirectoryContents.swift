/// The directory: the sample users with all changes.
///
/// It is a value, so that a response shows one state while other requests change the directory.
struct DirectoryContents: Sendable {
    let sample: UserTable
    /// The index of each user's names, as in ``UserTable/pairs``; irregular for added, changed and deleted users.
    private(set) var pairs: [UInt16]
    /// The positions of all users that are not generated, ascending: special, added, changed and deleted users.
    private(set) var irregular: [Int]
    private var altered: [Int: StoredUser] = [:]
    private var byKey: [String: Int] = [:]
    private(set) var removals: [Int: Removal] = [:]
    private(set) var changes = ChangeLog()

    struct Removal: Sendable, Equatable {
        /// The date in seconds since 1970.
        var date: Int
        var isPermanent: Bool
    }

    /// The number of seconds in which a deleted user can be restored: 30 days.
    static let retention = 30 * 86_400

    init(_ users: UserTable) {
        sample = users
        pairs = users.pairs
        irregular = users.pairs.indices.filter { users.pairs[$0] == UserTable.irregular }
    }

    /// The number of positions, including the positions of deleted users.
    var positions: Int { pairs.count }

    var count: Int { pairs.count - removals.count }

    subscript(index: Int) -> StoredUser { altered[index] ?? sample[index] }

    func isPresent(_ index: Int) -> Bool { removals[index] == nil }

    /// Returns the position of the user with this identifier or user principal name, in any case.
    func index(of key: String) -> Int? {
        if let index = byKey[key.lowercased()] { return isPresent(index) ? index : nil }
        guard let index = sample.index(of: key), altered[index] == nil, isPresent(index) else { return nil }
        return index
    }

    /// Returns the position of the user with this user principal name or mail address.
    func index(signingInAs name: String) -> Int? {
        if let index = index(of: name) { return index }
        if let index = sample.index(signingInAs: name), altered[index] == nil, isPresent(index) { return index }
        let folded = name.lowercased()
        return altered.first { $0.value.mail?.lowercased() == folded && isPresent($0.key) }?.key
    }

    /// Returns the position of the manager, or `nil` without one.
    func manager(of index: Int) -> Int? {
        let manager = altered[index].map(\.manager) ?? sample.manager(of: index)
        return manager.flatMap { isPresent($0) ? $0 : nil }
    }

    /// Returns the positions of the user's direct reports.
    func reports(to index: Int) -> [Int] {
        let sample = sample.reports(to: index).filter { altered[$0] == nil && isPresent($0) }
        let others = altered.filter { $0.value.manager == index && isPresent($0.key) }.keys
        return others.isEmpty ? sample : (sample + others).sorted()
    }

    /// All users that are not deleted. A large directory needs much memory.
    var all: [StoredUser] { (0..<positions).filter { isPresent($0) }.map { self[$0] } }

    // MARK: Changes

    private mutating func set(_ user: StoredUser, at index: Int) {
        if let old = altered[index] {
            byKey[old.id.lowercased()] = nil
            byKey[old.userPrincipalName.lowercased()] = nil
        }
        altered[index] = user
        byKey[user.id.lowercased()] = index
        byKey[user.userPrincipalName.lowercased()] = index
        makeIrregular(index)
    }

    private mutating func makeIrregular(_ index: Int) {
        pairs[index] = UserTable.irregular
        // Binary search, because there may be many.
        var (low, high) = (0, irregular.count)
        while low < high {
            let middle = (low + high) / 2
            if irregular[middle] < index { low = middle + 1 } else { high = middle }
        }
        if low == irregular.count || irregular[low] != index { irregular.insert(index, at: low) }
    }

    /// Adds a user and returns the position, or `nil` if the identifier or the user principal name is taken.
    mutating func add(_ user: StoredUser) -> Int? {
        guard index(of: user.id) == nil, index(of: user.userPrincipalName) == nil else { return nil }
        pairs.append(UserTable.irregular)
        set(user, at: positions - 1)
        changes.add(positions - 1, properties: nil)
        return positions - 1
    }

    /// Replaces a user. The user principal name must be free.
    mutating func change(_ index: Int, to user: StoredUser) -> Bool {
        let old = self[index]
        guard isPresent(index), user.id == old.id else { return false }
        if let taken = self.index(of: user.userPrincipalName), taken != index { return false }
        let changed = UserProperty.allCases.filter { old.json($0) != user.json($0) }
        let newManager = old.manager != user.manager
        guard !changed.isEmpty || newManager else { return true }
        set(user, at: index)
        changes.add(index, properties: Set(changed))
        return true
    }

    /// Deletes a user, permanently or for 30 days.
    mutating func remove(_ index: Int, isPermanent: Bool, now: Int) {
        if let removal = removals[index], removal.isPermanent || !isPermanent { return }
        makeIrregular(index)
        removals[index] = Removal(date: now, isPermanent: isPermanent)
        changes.add(index, properties: nil)
    }

    /// Restores a deleted user. Returns `false` if this is impossible or the user principal name is taken.
    mutating func restore(_ index: Int, now: Int) -> Bool {
        guard isRestorable(index, now: now), self.index(of: self[index].userPrincipalName) == nil else { return false }
        removals[index] = nil
        changes.add(index, properties: nil)
        return true
    }

    mutating func forgetChanges() { changes.forget() }

    func isRestorable(_ index: Int, now: Int) -> Bool {
        guard let removal = removals[index] else { return false }
        return !removal.isPermanent && now - removal.date < Self.retention
    }

    /// Returns the positions of the deleted users who can be restored, in the order of their deletion.
    func restorable(now: Int) -> [Int] {
        removals.keys.filter { isRestorable($0, now: now) }.sorted {
            (removals[$0]?.date ?? 0, $0) < (removals[$1]?.date ?? 0, $1)
        }
    }

    /// Returns the position of a deleted user who can be restored.
    func restorable(id: String, now: Int) -> Int? {
        restorable(now: now).first { self[$0].id == id.lowercased() }
    }
}

/// The changes of a directory, numbered from 1.
struct ChangeLog: Sendable {
    struct Change: Sendable {
        var index: Int
        /// The changed properties, or `nil` if the user was added, deleted or restored.
        var properties: Set<UserProperty>?
    }

    static let limit = 100_000
    private var entries: [Change] = []
    private(set) var forgotten = 0

    var last: Int { forgotten + entries.count }

    mutating func add(_ index: Int, properties: Set<UserProperty>?) {
        // Delete half, so that a full log does not move for every change.
        if entries.count >= Self.limit {
            entries.removeFirst(Self.limit / 2)
            forgotten += Self.limit / 2
        }
        entries.append(Change(index: index, properties: properties))
    }

    /// Returns the changes after the given one, or `nil` if the log does not contain all of them.
    func after(_ number: Int) -> [Change]? {
        guard number >= forgotten, number <= last else { return nil }
        return Array(entries[(number - forgotten)...])
    }

    /// Deletes all changes, so that clients need a full synchronization.
    mutating func forget() {
        // One more than the last change, so that existing tokens become too old.
        forgotten = last + 1
        entries = []
    }
}
