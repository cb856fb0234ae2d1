import Synchronization

/// The sample users, which are the same for the same number and seed.
///
/// Only the few special users are stored. All others are computed from a position in the sequence of random numbers, so
/// that a million users need a few megabytes: the pair of names of each.
final class UserTable: Sendable {
    let count: Int
    /// The position of each user's names in ``names``; ``irregular`` for the special users.
    let pairs: [UInt16]
    let names: [NamePair]
    private let numbers: SplitMix64
    private let specials: [StoredUser]
    private let specialNames: [String: Int]
    /// The first user with each address name. Pairs with the same letters share one.
    private let firstOfName: [Int32]
    private let nameByText: [String: Int]
    /// Computed on first use: positions by identifier, and sorted positions.
    private let identifiers = Mutex<[Int32]?>(nil)
    private let orders = Mutex<[UserProperty: [Int32]]>([:])

    /// The value in ``pairs`` of users without a pair of names.
    static let irregular = UInt16.max

    struct NamePair: Sendable {
        let givenName: String
        let surname: String
        let displayName: String
        /// The start of addresses, before a number.
        let address: String
        /// The index of the address name.
        let name: Int
        /// Whether every address has a number.
        let isAlwaysNumbered: Bool
    }

    /// The pairs of names, the same for every directory.
    private static let table: (names: [NamePair], texts: [String: Int]) = {
        var texts: [String: Int] = [:]
        var names: [NamePair] = []
        names.reserveCapacity(SampleUsers.givenNames.count * SampleUsers.surnames.count)
        let surnames = SampleUsers.surnames.map { ($0, SampleUsers.letters($0)) }
        for given in SampleUsers.givenNames {
            let left = SampleUsers.letters(given)
            for (sur, right) in surnames {
                let isNumbered = right.utf8.count < 2
                let address = isNumbered ? "\(left)." : "\(left).\(right)"
                let name = texts[address] ?? texts.count
                texts[address] = name
                names.append(
                    NamePair(
                        givenName: given, surname: sur, displayName: "\(given) \(sur)", address: address, name: name,
                        isAlwaysNumbered: isNumbered))
            }
        }
        return (names, texts)
    }()

    init(count: Int, seed: UInt64) {
        let count = min(max(0, count), Int(Int32.max))
        self.count = count
        numbers = SplitMix64(seed: seed)
        let (names, texts) = Self.table
        var pairs = [UInt16](repeating: Self.irregular, count: count)
        var first = [Int32](repeating: .max, count: texts.count)
        for special in SampleUsers.special { if let name = texts[special.name] { first[name] = -1 } }
        let specialCount = SampleUsers.special.count
        if count > specialCount {
            let (givens, surs) = (UInt64(SampleUsers.givenNames.count), UInt64(SampleUsers.surnames.count))
            for index in specialCount..<count {
                let start = Self.start(index)
                let pair = Int(numbers[start] % givens * surs + numbers[start + 1] % surs)
                pairs[index] = UInt16(pair)
                let name = names[pair].name
                if first[name] == .max { first[name] = Int32(index) }
            }
        }
        self.names = names
        self.pairs = pairs
        firstOfName = first
        nameByText = texts
        let numbers = numbers
        specials = (0..<min(count, specialCount)).map { Self.special(at: $0, numbers) }
        specialNames = Dictionary(
            SampleUsers.special.prefix(count).enumerated().map { ($1.name, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// All users. A large directory needs much memory.
    var all: [StoredUser] { (0..<count).map { self[$0] } }

    /// Returns the position of a user's first random number.
    ///
    /// Special users use 11 numbers, the user without a department 10, others 14.
    private static func start(_ index: Int) -> Int {
        let specials = SampleUsers.special.count
        let special = { (index: Int) in index * 11 - (index > 9 ? 1 : 0) }
        return index < specials ? special(index) : special(specials) + (index - specials) * 14
    }

    // MARK: One user

    /// The user at this position, which must be in the directory.
    subscript(index: Int) -> StoredUser {
        if index < specials.count { return specials[index] }
        let row = SampleRow(table: self, index: index)
        return StoredUser(
            id: row.id, displayName: row.pair.displayName, givenName: row.pair.givenName, surname: row.pair.surname,
            mail: row.mail, userPrincipalName: row.userPrincipalName, jobTitle: row.jobTitle,
            department: row.department, officeLocation: row.officeLocation, mobilePhone: row.mobilePhone,
            businessPhones: row.businessPhones, preferredLanguage: row.location.language, city: row.location.city,
            country: row.location.country, companyName: row.companyName, employeeID: row.employeeID,
            accountEnabled: row.accountEnabled, isGuest: row.isGuest, createdDateTime: row.createdDateTime,
            manager: manager(of: index))
    }

    func number(_ index: Int, _ position: Int) -> UInt64 { numbers[Self.start(index) + position] }

    /// Returns the name before the `@` of a generated user.
    func addressName(_ index: Int) -> String {
        let pair = names[Int(pairs[index])]
        return firstOfName[pair.name] == Int32(index) && !pair.isAlwaysNumbered
            ? pair.address : pair.address + String(index)
    }

    /// Returns the position of the manager, or `nil` for the head and for guests.
    func manager(of index: Int) -> Int? {
        if index < specials.count { return specials[index].manager }
        return index % 23 == 0 ? nil : (index - 1) / 7
    }

    /// Returns the positions of the user's direct reports.
    func reports(to index: Int) -> [Int] {
        let first = index * 7 + 1
        guard first < count else { return [] }
        return (first..<min(count, first + 7)).filter { manager(of: $0) == index }
    }

    private static func special(at index: Int, _ numbers: SplitMix64) -> StoredUser {
        let special = SampleUsers.special[index]
        var next = start(index)
        func draw() -> UInt64 {
            defer { next += 1 }
            return numbers[next]
        }
        let location = SampleUsers.locations[Int(draw() % UInt64(SampleUsers.locations.count))]
        let address = special.isGuest ? "\(special.name)@partner.example" : "\(special.name)@contoso.example"
        let digits = SampleUsers.padded(draw() % 1000, to: 3)
        let id = identifier(draw(), draw())
        let department =
            index == 9 ? nil : SampleUsers.departments[Int(draw() % UInt64(SampleUsers.departments.count))]
        let office = "\(10 + draw() % 30)/\(1000 + draw() % 3000)"
        return StoredUser(
            id: id, displayName: special.display, givenName: special.given, surname: special.sur,
            mail: special.hasMail ? address : nil,
            userPrincipalName: special.isGuest ? "\(special.name)_partner.example#EXT#@contoso.example" : address,
            jobTitle: special.title, department: department, officeLocation: office,
            mobilePhone: special.hasPhones && index % 3 != 0 ? "\(location.prefix)1\(digits)" : nil,
            businessPhones: special.hasPhones ? ["\(location.prefix)2\(digits)"] : [],
            preferredLanguage: location.language,
            city: location.city, country: location.country, companyName: special.isGuest ? nil : "Contoso",
            employeeID: special.isGuest ? nil : "E\(SampleUsers.padded(UInt64(index), to: 6))",
            accountEnabled: index % 29 != 28, isGuest: special.isGuest,
            createdDateTime: date(draw(), draw(), draw(), draw()),
            manager: index == 0 || special.isGuest ? nil : (index - 1) / 7)
    }

    static func date(_ year: UInt64, _ month: UInt64, _ day: UInt64, _ minute: UInt64) -> String {
        "\(2012 + year % 13)-\(SampleUsers.padded(1 + month % 12, to: 2))-\(SampleUsers.padded(1 + day % 28, to: 2))"
            + "T08:\(SampleUsers.padded(minute % 60, to: 2)):00Z"
    }

    // MARK: Identifiers

    private static func high(_ number: UInt64) -> UInt64 { number & 0xFFFF_FFFF_FFFF_0FFF | 0x4000 }
    private static func low(_ number: UInt64) -> UInt64 { number & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000 }

    static func identifier(_ first: UInt64, _ second: UInt64) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let (high, low) = (high(first), low(second))
        return String(unsafeUninitializedCapacity: 36) { buffer in
            var position = 0
            for nibble in 0..<32 {
                if nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20 {
                    buffer[position] = UInt8(ascii: "-")
                    position += 1
                }
                let word = nibble < 16 ? high : low
                buffer[position] = digits[Int(word >> UInt64(60 - nibble % 16 * 4) & 15)]
                position += 1
            }
            return position
        }
    }

    /// Returns the position of the user with this identifier or user principal name, in any case.
    func index(of key: String) -> Int? {
        let folded = key.lowercased()
        return index(identifier: folded) ?? index(principalName: folded)
    }

    /// Returns the position of the user with this user principal name or mail address.
    func index(signingInAs name: String) -> Int? {
        let folded = name.lowercased()
        if let index = index(principalName: folded) { return index }
        guard folded.hasSuffix("@partner.example") else { return nil }
        return index(addressName: String(folded.dropLast("@partner.example".count))).flatMap {
            self[$0].mail?.lowercased() == folded ? $0 : nil
        }
    }

    private func index(principalName folded: String) -> Int? {
        for ending in ["_partner.example#ext#@contoso.example", "@contoso.example"] where folded.hasSuffix(ending) {
            let found = index(addressName: String(folded.dropLast(ending.count)))
            return found.flatMap { self[$0].userPrincipalName.lowercased() == folded ? $0 : nil }
        }
        return nil
    }

    private func index(addressName name: String) -> Int? {
        if let index = specialNames[name] { return index }
        let digits = String(name.reversed().prefix { $0.isASCII && $0.isNumber }.reversed())
        if let index = Int(digits) {
            return index >= specials.count && index < count && addressName(index) == name ? index : nil
        }
        guard let position = nameByText[name] else { return nil }
        let index = Int(firstOfName[position])
        return index >= 0 && index < count ? index : nil
    }

    private func index(identifier folded: String) -> Int? {
        guard folded.utf8.count == 36, let low = UInt64(folded.filter { $0 != "-" }.suffix(16), radix: 16) else {
            return nil
        }
        if let special = specials.firstIndex(where: { $0.id == folded }) { return special }
        return identifiers.withLock { table in
            let slots = table ?? identifierTable()
            table = slots
            let mask = slots.count - 1
            var slot = Int(truncatingIfNeeded: low) & mask
            while slots[slot] >= 0 {
                let index = Int(slots[slot])
                if SampleRow(table: self, index: index).id == folded { return index }
                slot = (slot + 1) & mask
            }
            return nil
        }
    }

    /// Returns a hash table with open addressing, at most half full.
    ///
    /// Identifiers are random, so their bits serve as hashes.
    private func identifierTable() -> [Int32] {
        var size = 16
        while size < count * 2 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        guard specials.count < count else { return slots }
        for index in specials.count..<count {
            var slot = Int(truncatingIfNeeded: Self.low(number(index, 6))) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(index)
        }
        return slots
    }

    // MARK: Orders

    /// Returns the positions of all users except the special ones, sorted by displayName, userPrincipalName or
    /// createdDateTime.
    ///
    /// Computed once. Returns `nil` for other properties.
    func order(by property: UserProperty) -> [Int32]? {
        guard [.displayName, .userPrincipalName, .createdDateTime].contains(property) else { return nil }
        return orders.withLock { orders in
            if let order = orders[property] { return order }
            let order = makeOrder(by: property)
            orders[property] = order
            return order
        }
    }

    private func makeOrder(by property: UserProperty) -> [Int32] {
        guard specials.count < count else { return [] }
        var groups = [UInt64](repeating: 0, count: names.count)
        if property != .createdDateTime {
            let texts = names.map { (property == .displayName ? $0.displayName : $0.address).lowercased() }
            let sorted = Array(Set(texts)).sorted()
            let ranks = Dictionary(uniqueKeysWithValues: sorted.enumerated().map { ($1, UInt64($0)) })
            groups = texts.map { ranks[$0] ?? 0 }
        }
        var keys: [(UInt64, UInt64)] = []
        keys.reserveCapacity(count - specials.count)
        for index in specials.count..<count {
            switch property {
            case .displayName: keys.append((groups[Int(pairs[index])], UInt64(index)))
            case .createdDateTime:
                let row = SampleRow(table: self, index: index)
                keys.append((row.createdKey << 32 | UInt64(index), UInt64(index)))
            default:
                let row = SampleRow(table: self, index: index)
                // The rest of the address as bytes, left-aligned, so that numbers compare like strings.
                let pair = names[Int(pairs[index])]
                let isPlain = firstOfName[pair.name] == Int32(index) && !pair.isAlwaysNumbered
                var rest: UInt64 = 0
                var shift: UInt64 = 28
                for byte in (isPlain ? "" : String(index)).utf8.prefix(7) {
                    rest = rest << 4 | UInt64(byte - 0x30 + 1)
                    shift -= 4
                }
                rest = rest << 4 | (row.isGuest ? 13 : 12)
                rest <<= shift
                keys.append((groups[Int(pairs[index])] << 32 | rest, UInt64(index)))
            }
        }
        keys.sort { $0 < $1 }
        return keys.map { Int32($0.1) }
    }
}
