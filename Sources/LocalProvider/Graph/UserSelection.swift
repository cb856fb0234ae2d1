/// Who of the directory matches a filter and a search, in an order, page by page.
struct UserSelection: Sendable {
    /// Where a page begins.
    struct Position: Equatable, Sendable {
        /// The place in the order of the people who are as they were invented; without an order, of everybody.
        var invented = 0
        /// The place in the order of the others.
        var irregular = 0
    }

    let contents: DirectoryContents
    private let filter: ODataFilter?
    private let search: ODataSearch?
    /// What the conditions say of each pair of names; nil where it is not worth to ask.
    private let verdicts: [Ternary]?

    /// Below this many people each is asked for himself.
    static let fewPeople = 4_000

    init(
        _ contents: DirectoryContents, filter: ODataFilter?, search: ODataSearch?, fewPeople: Int = Self.fewPeople
    ) {
        self.contents = contents
        self.filter = filter
        self.search = search
        guard filter != nil || search != nil, contents.places > fewPeople else {
            verdicts = nil
            return
        }
        verdicts = contents.invented.names.map { pair in
            .and(filter?.verdict(pair) ?? .yes, search?.verdict(pair) ?? .yes)
        }
    }

    private var isUnconditional: Bool { filter == nil && search == nil }

    private func holds(_ person: some PersonProperties) -> Bool {
        (filter?.matches(person) ?? true) && (search?.matches(person) ?? true)
    }

    /// Whether the person at this place is there and matches.
    func matches(_ index: Int) -> Bool {
        let pair = contents.pairs[index]
        guard pair != UserTable.irregular else { return contents.isPresent(index) && holds(contents[index]) }
        if isUnconditional { return true }
        switch verdicts?[Int(pair)] ?? .maybe {
        case .no: return false
        case .yes: return true
        case .maybe: return holds(SampleRow(people: contents.invented, index: index))
        }
    }

    /// How many match.
    func count() -> Int {
        if isUnconditional { return contents.count }
        return (0..<contents.places).count { matches($0) }
    }

    /// So many after so many others, in the order.
    func found(
        skipping skipped: Int, count: Int, order: [(property: UserProperty, descending: Bool)]
    ) -> [Int] {
        guard count > 0, skipped < contents.places else { return [] }
        let wanted = min(contents.places, skipped + min(count, contents.places))
        return Array(page(from: .init(), count: wanted, order: order).found.dropFirst(skipped))
    }

    /// The next page in the order, and where the one after it begins; nil at the end.
    func page(
        from start: Position, count: Int, order: [(property: UserProperty, descending: Bool)]
    ) -> (found: [Int], next: Position?) {
        guard let first = order.first else { return plain(from: start, count: count) }
        if order.count == 1, let places = contents.invented.order(by: first.property) {
            return merged(from: start, count: count, places, first.property, first.descending)
        }
        // Rare: several properties, or one that has no order of its own.
        var found = (0..<contents.places).filter { matches($0) }
        Self.sort(&found, by: order, contents)
        let begin = min(max(0, start.invented), found.count)
        let end = min(found.count, begin + count)
        return (
            Array(found[begin..<end]),
            end < found.count ? Position(invented: end) : nil
        )
    }

    private func plain(from start: Position, count: Int) -> (found: [Int], next: Position?) {
        var found: [Int] = []
        var index = max(0, start.invented)
        while index < contents.places {
            if matches(index) {
                if found.count == count { return (found, Position(invented: index)) }
                found.append(index)
            }
            index += 1
        }
        return (found, nil)
    }

    /// The sorted invented people and the sorted others, merged.
    private func merged(
        from start: Position, count: Int, _ places: [Int32], _ property: UserProperty, _ descending: Bool
    ) -> (found: [Int], next: Position?) {
        var others = contents.irregular
        Self.sort(&others, by: [(property, descending)], contents)
        var position = Position(invented: max(0, start.invented), irregular: max(0, start.irregular))
        var found: [Int] = []
        func invented() -> Int? {
            while position.invented < places.count {
                let place = descending ? places.count - 1 - position.invented : position.invented
                let index = Int(places[place])
                if contents.pairs[index] != UserTable.irregular, matches(index) { return index }
                position.invented += 1
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
            let (left, right) = (invented(), irregular())
            let takesLeft: Bool
            switch (left, right) {
            case (nil, nil): return (found, nil)
            case (_?, nil): takesLeft = true
            case (nil, _?): takesLeft = false
            case (let left?, let right?):
                let keys = (Self.key(left, property, contents), Self.key(right, property, contents))
                takesLeft = keys.0 == keys.1 ? left < right : (keys.0 < keys.1) != descending
            }
            if found.count == count { return (found, position) }
            if takesLeft, let left {
                found.append(left)
                position.invented += 1
            } else if let right {
                found.append(right)
                position.irregular += 1
            }
        }
    }

    private static func key(_ index: Int, _ property: UserProperty, _ contents: DirectoryContents) -> String {
        contents.pairs[index] == UserTable.irregular
            ? contents[index].text(property)?.lowercased() ?? ""
            : SampleRow(people: contents.invented, index: index).text(property)?.lowercased() ?? ""
    }

    /// Sorts places; without an order they stay.
    static func sort(
        _ indices: inout [Int], by order: [(property: UserProperty, descending: Bool)], _ contents: DirectoryContents
    ) {
        guard !order.isEmpty else { return }
        var keyed = indices.map { index in (index, order.map { key(index, $0.property, contents) }) }
        keyed.sort { left, right in
            for (place, (_, descending)) in order.enumerated() where left.1[place] != right.1[place] {
                return (left.1[place] < right.1[place]) != descending
            }
            return left.0 < right.0
        }
        indices = keyed.map(\.0)
    }
}
