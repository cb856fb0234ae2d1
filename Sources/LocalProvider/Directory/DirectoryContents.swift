/// The directory: the invented people, and what was changed since the start.
///
/// A value, so that an answer is made of one state while others change the directory.
struct DirectoryContents: Sendable {
    let invented: UserTable
    /// The place of each person's names, as in ``UserTable/pairs``; irregular for whoever was added, changed or deleted.
    private(set) var pairs: [UInt16]
    /// The places of everybody who is not as they were invented, ascending: the special people too.
    private(set) var irregular: [Int]
    private var altered: [Int: StoredUser] = [:]
    private var byKey: [String: Int] = [:]
    private(set) var removals: [Int: Removal] = [:]
    private(set) var changes = ChangeLog()

    /// How a person left.
    struct Removal: Sendable, Equatable {
        /// Seconds since 1970.
        var date: Int
        /// Whether the person can come back no more.
        var isPermanent: Bool
    }

    /// How long a deleted person can be restored, in seconds: 30 days.
    static let retention = 30 * 86_400

    init(_ people: UserTable) {
        invented = people
        pairs = people.pairs
        irregular = people.pairs.indices.filter { people.pairs[$0] == UserTable.irregular }
    }

    /// How many places there are, those of deleted people included.
    var places: Int { pairs.count }

    /// How many people there are.
    var count: Int { pairs.count - removals.count }

    /// The person at this place, deleted or not.
    subscript(index: Int) -> StoredUser { altered[index] ?? invented[index] }

    func isPresent(_ index: Int) -> Bool { removals[index] == nil }

    /// The place of the person with this identifier or user principal name, whatever its case.
    func index(of key: String) -> Int? {
        if let index = byKey[key.lowercased()] { return isPresent(index) ? index : nil }
        guard let index = invented.index(of: key), altered[index] == nil, isPresent(index) else { return nil }
        return index
    }

    /// The place of the person with this user principal name or mail address.
    func index(signingInAs name: String) -> Int? {
        if let index = index(of: name) { return index }
        if let index = invented.index(signingInAs: name), altered[index] == nil, isPresent(index) { return index }
        let folded = name.lowercased()
        return altered.first { $0.value.mail?.lowercased() == folded && isPresent($0.key) }?.key
    }

    /// The place of the manager; nil when there is none.
    func manager(of index: Int) -> Int? {
        let manager = altered[index].map(\.manager) ?? invented.manager(of: index)
        return manager.flatMap { isPresent($0) ? $0 : nil }
    }

    /// The places of the people who report to this one.
    func reports(to index: Int) -> [Int] {
        let invented = invented.reports(to: index).filter { altered[$0] == nil && isPresent($0) }
        let others = altered.filter { $0.value.manager == index && isPresent($0.key) }.keys
        return others.isEmpty ? invented : (invented + others).sorted()
    }

    /// Everybody who is there. Of a large directory this takes much memory.
    var all: [StoredUser] { (0..<places).filter { isPresent($0) }.map { self[$0] } }

    // MARK: Changes

    private mutating func set(_ person: StoredUser, at index: Int) {
        if let old = altered[index] {
            byKey[old.id.lowercased()] = nil
            byKey[old.userPrincipalName.lowercased()] = nil
        }
        altered[index] = person
        byKey[person.id.lowercased()] = index
        byKey[person.userPrincipalName.lowercased()] = index
        makeIrregular(index)
    }

    private mutating func makeIrregular(_ index: Int) {
        pairs[index] = UserTable.irregular
        // Binary search: there may be many.
        var (low, high) = (0, irregular.count)
        while low < high {
            let middle = (low + high) / 2
            if irregular[middle] < index { low = middle + 1 } else { high = middle }
        }
        if low == irregular.count || irregular[low] != index { irregular.insert(index, at: low) }
    }

    /// Adds a person; nil when the identifier or the user principal name is taken.
    mutating func add(_ person: StoredUser) -> Int? {
        guard index(of: person.id) == nil, index(of: person.userPrincipalName) == nil else { return nil }
        pairs.append(UserTable.irregular)
        set(person, at: places - 1)
        changes.add(places - 1, properties: nil)
        return places - 1
    }

    /// Replaces a person. The user principal name must be free.
    mutating func change(_ index: Int, to person: StoredUser) -> Bool {
        let old = self[index]
        guard isPresent(index), person.id == old.id else { return false }
        if let taken = self.index(of: person.userPrincipalName), taken != index { return false }
        let changed = UserProperty.allCases.filter { old.json($0) != person.json($0) }
        let newManager = old.manager != person.manager
        guard !changed.isEmpty || newManager else { return true }
        set(person, at: index)
        changes.add(index, properties: Set(changed))
        return true
    }

    /// Deletes a person: softly, for 30 days, or for good.
    mutating func remove(_ index: Int, isPermanent: Bool, now: Int) {
        if let removal = removals[index], removal.isPermanent || !isPermanent { return }
        makeIrregular(index)
        removals[index] = Removal(date: now, isPermanent: isPermanent)
        changes.add(index, properties: nil)
    }

    /// Brings a softly deleted person back; false when there is none, or the user principal name is taken.
    mutating func restore(_ index: Int, now: Int) -> Bool {
        guard isRestorable(index, now: now), self.index(of: self[index].userPrincipalName) == nil else { return false }
        removals[index] = nil
        changes.add(index, properties: nil)
        return true
    }

    /// Makes every delta token of now too old.
    mutating func forgetChanges() { changes.forget() }

    func isRestorable(_ index: Int, now: Int) -> Bool {
        guard let removal = removals[index] else { return false }
        return !removal.isPermanent && now - removal.date < Self.retention
    }

    /// The places of the deleted people who can be restored, in the order of their deletion.
    func restorable(now: Int) -> [Int] {
        removals.keys.filter { isRestorable($0, now: now) }.sorted {
            (removals[$0]?.date ?? 0, $0) < (removals[$1]?.date ?? 0, $1)
        }
    }

    /// The place of a deleted person who can be restored.
    func restorable(id: String, now: Int) -> Int? {
        restorable(now: now).first { self[$0].id == id.lowercased() }
    }
}

/// The changes of a directory, numbered from 1.
struct ChangeLog: Sendable {
    struct Change: Sendable {
        var index: Int
        /// What changed; nil when the person came or left.
        var properties: Set<UserProperty>?
    }

    static let limit = 100_000
    private var entries: [Change] = []
    /// How many of the oldest were forgotten.
    private(set) var forgotten = 0

    /// The number of the last change.
    var last: Int { forgotten + entries.count }

    mutating func add(_ index: Int, properties: Set<UserProperty>?) {
        // Half at once, so that a full log does not move for every change.
        if entries.count >= Self.limit {
            entries.removeFirst(Self.limit / 2)
            forgotten += Self.limit / 2
        }
        entries.append(Change(index: index, properties: properties))
    }

    /// The changes after this one; nil when some of them were forgotten or it is none of this log.
    func after(_ number: Int) -> [Change]? {
        guard number >= forgotten, number <= last else { return nil }
        return Array(entries[(number - forgotten)...])
    }

    /// Forgets every change: a full synchronisation is needed.
    mutating func forget() {
        // One more than there were, so that the tokens of now are too old.
        forgotten = last + 1
        entries = []
    }
}
