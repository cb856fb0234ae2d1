/// The users that match a filter and a search, sorted and split into pages.
struct UserSelection: Sendable {
    struct Position: Equatable, Sendable {
        /// The position among the sorted generated users; without an order, among all users.
        var sample = 0
        /// The position among the other users.
        var irregular = 0
    }

    typealias Order = (property: UserProperty, descending: Bool)

    let contents: DirectoryContents
    private let filter: ODataFilter?
    private let search: ODataSearch?
    /// The result of the conditions for each pair of names, or `nil` for small directories.
    private let results: [Ternary]?

    /// The maximum number of users for which each user is tested separately.
    static let linearSearchLimit = 4_000

    init(
        _ contents: DirectoryContents, filter: ODataFilter?, search: ODataSearch?,
        linearSearchLimit: Int = Self.linearSearchLimit
    ) {
        self.contents = contents
        self.filter = filter
        self.search = search
        guard filter != nil || search != nil, contents.positions > linearSearchLimit else {
            results = nil
            return
        }
        results = contents.sample.names.map { pair in
            .and(filter?.result(for: pair) ?? .yes, search?.result(for: pair) ?? .yes)
        }
    }

    private var isUnconditional: Bool { filter == nil && search == nil }

    private func holds(_ user: some UserValues) -> Bool {
        (filter?.matches(user) ?? true) && (search?.matches(user) ?? true)
    }

    /// Returns whether the user at this position exists and matches.
    func matches(_ index: Int) -> Bool {
        let pair = contents.pairs[index]
        guard pair != UserTable.irregular else { return contents.isPresent(index) && holds(contents[index]) }
        if isUnconditional { return true }
        switch results?[Int(pair)] ?? .maybe {
        case .no: return false
        case .yes: return true
        case .maybe: return holds(SampleRow(table: contents.sample, index: index))
        }
    }

    func count() -> Int {
        if isUnconditional { return contents.count }
        return (0..<contents.positions).count { matches($0) }
    }

    /// Returns a number of sorted matches after the skipped ones.
    func found(skipping skipped: Int, count: Int, order: [Order]) -> [Int] {
        guard count > 0, skipped < contents.positions else { return [] }
        let end = min(contents.positions, skipped + min(count, contents.positions))
        return Array(page(from: .init(), count: end, order: order).found.dropFirst(skipped))
    }

    /// Returns the next sorted page and the start of the page after it, or `nil` at the end.
    func page(from start: Position, count: Int, order: [Order]) -> (found: [Int], next: Position?) {
        guard let first = order.first else { return plain(from: start, count: count) }
        if order.count == 1, let positions = contents.sample.order(by: first.property) {
            return merged(from: start, count: count, positions, first)
        }
        // Rare: several properties, or a property without a precomputed order.
        let found = Self.sorted((0..<contents.positions).filter { matches($0) }, by: order, key: key)
        let begin = min(max(0, start.sample), found.count)
        let end = min(found.count, begin + count)
        return (Array(found[begin..<end]), end < found.count ? Position(sample: end) : nil)
    }

    private func plain(from start: Position, count: Int) -> (found: [Int], next: Position?) {
        var found: [Int] = []
        var index = max(0, start.sample)
        while index < contents.positions {
            if matches(index) {
                if found.count == count { return (found, Position(sample: index)) }
                found.append(index)
            }
            index += 1
        }
        return (found, nil)
    }

    /// Returns a page of the merged generated users and other users, both sorted.
    private func merged(
        from start: Position, count: Int, _ positions: [Int32], _ order: Order
    ) -> (found: [Int], next: Position?) {
        let others = Self.sorted(contents.irregular, by: [order], key: key)
        let (property, descending) = order
        var position = Position(sample: max(0, start.sample), irregular: max(0, start.irregular))
        var found: [Int] = []
        func sample() -> Int? {
            while position.sample < positions.count {
                let offset = descending ? positions.count - 1 - position.sample : position.sample
                let index = Int(positions[offset])
                if contents.pairs[index] != UserTable.irregular, matches(index) { return index }
                position.sample += 1
            }
            return nil
        }
        func irregular() -> Int? {
            while position.irregular < others.count {
                if matches(others[position.irregular]) { return others[position.irregular] }
                position.irregular += 1
            }
            return nil
        }
        while true {
            let (left, right) = (sample(), irregular())
            let takesLeft: Bool
            switch (left, right) {
            case (nil, nil): return (found, nil)
            case (_?, nil): takesLeft = true
            case (nil, _?): takesLeft = false
            case (let left?, let right?):
                let keys = (key(left, property), key(right, property))
                takesLeft = keys.0 == keys.1 ? left < right : (keys.0 < keys.1) != descending
            }
            if found.count == count { return (found, position) }
            if takesLeft, let left {
                found.append(left)
                position.sample += 1
            } else if let right {
                found.append(right)
                position.irregular += 1
            }
        }
    }

    private func key(_ index: Int, _ property: UserProperty) -> String {
        contents.pairs[index] == UserTable.irregular
            ? contents[index].text(property)?.lowercased() ?? ""
            : SampleRow(table: contents.sample, index: index).text(property)?.lowercased() ?? ""
    }

    /// Returns the items sorted. Equal items, and all items without an order, keep their order.
    static func sorted<Item>(
        _ items: [Item], by order: [Order], key: (Item, UserProperty) -> String
    ) -> [Item] {
        guard !order.isEmpty else { return items }
        var keyed = items.map { item in (item, order.map { key(item, $0.property) }) }
        // `sort` is stable.
        keyed.sort { left, right in
            for (position, (_, descending)) in order.enumerated() where left.1[position] != right.1[position] {
                return (left.1[position] < right.1[position]) != descending
            }
            return false
        }
        return keyed.map(\.0)
    }
}
