import StrictJSON

/// An object of another directory on its way to a ``User``: members are taken out by name, and what nobody took is kept.
struct WireRecord {
    /// What is not taken yet.
    private(set) var rest: [JSONObject.Member]
    private let ignoresCase: Bool

    /// - Parameter ignoresCase: whether names are compared without case, as SCIM does (RFC 7643 section 2.1).
    init(_ object: JSONObject, ignoresCase: Bool) {
        rest = object.members
        self.ignoresCase = ignoresCase
    }

    private func index(_ name: String) -> Int? {
        let name = ignoresCase ? name.lowercased() : name
        // Where a name stands twice, the last counts.
        return rest.lastIndex { (ignoresCase ? $0.name.lowercased() : $0.name) == name }
    }

    /// Takes a member that is a text; anything else stays.
    mutating func text(_ name: String) -> String? {
        guard let index = index(name), let text = rest[index].value.string else { return nil }
        rest.remove(at: index)
        return text
    }

    /// Takes a member that is true or false.
    mutating func truth(_ name: String) -> Bool? {
        guard let index = index(name), let truth = rest[index].value.bool else { return nil }
        rest.remove(at: index)
        return truth
    }

    /// Takes a member that is an object.
    mutating func record(_ name: String) -> WireRecord? {
        guard let index = index(name), let object = rest[index].value.object else { return nil }
        rest.remove(at: index)
        return WireRecord(object, ignoresCase: ignoresCase)
    }

    /// Takes the elements of a list to which the condition applies; the others stay, as a list of the same name.
    mutating func elements(_ name: String, where isIncluded: (WireRecord) -> Bool = { _ in true }) -> [WireRecord] {
        guard let index = index(name), let values = rest[index].value.array else { return [] }
        var taken: [WireRecord] = []
        var left: [JSONValue] = []
        for value in values {
            if let record = value.object.map({ WireRecord($0, ignoresCase: ignoresCase) }), isIncluded(record) {
                taken.append(record)
            } else {
                left.append(value)
            }
        }
        if left.isEmpty {
            rest.remove(at: index)
        } else {
            rest[index].value = .array(left)
        }
        return taken
    }

    /// Takes a member out, whatever it is.
    mutating func drop(_ name: String) {
        while let index = index(name) { rest.remove(at: index) }
    }

    /// Looks at a text without taking it.
    func peek(_ name: String) -> String? { index(name).flatMap { rest[$0].value.string } }

    /// Whether the element of a list is the one that counts most.
    var isPrimary: Bool { index("primary").map { rest[$0].value == true } ?? false }

    /// Whether the element is of this type, such as `work`.
    func isOf(_ type: String) -> Bool { peek("type")?.lowercased() == type }
}

extension [WireRecord] {
    /// The element that counts most: the primary one, else one for work, else the first.
    var foremost: WireRecord? { first(where: \.isPrimary) ?? first { $0.isOf("work") } ?? first }
}

extension JSONObject {
    /// Appends a text that is there.
    mutating func add(_ name: String, _ text: String?) {
        if let text { append(name, .string(text)) }
    }

    /// Appends a member of each record as a list, if there are any.
    mutating func add(_ name: String, _ member: String, of records: [WireRecord]) {
        let texts = records.compactMap { $0.peek(member).map { JSONValue.string($0) } }
        if !texts.isEmpty { append(name, .array(texts)) }
    }

    /// Appends the members of an address. SCIM and Google have the same names for them.
    mutating func add(address: WireRecord?) {
        for (name, member) in [
            ("streetAddress", "streetAddress"), ("city", "locality"), ("state", "region"),
            ("postalCode", "postalCode"), ("country", "country"),
        ] {
            add(name, address?.peek(member))
        }
    }

    /// Appends what was left over, but never in the place of a property: the names mean something else there.
    mutating func add(leftover record: WireRecord) {
        let known = Set(members.map(\.name))
        for member in record.rest where !known.contains(member.name) && !member.name.hasPrefix("@odata.") {
            append(member.name, member.value)
        }
    }
}
