import StrictJSON

/// An object of SCIM or Google during conversion to a ``User``.
///
/// The converter removes members by name; the others remain.
struct WireRecord {
    private(set) var remaining: [JSONObject.Member]
    private let ignoresCase: Bool

    /// Creates a record.
    ///
    /// - Parameter ignoresCase: Whether to ignore the case of names, as in SCIM (RFC 7643 section 2.1).
    init(_ object: JSONObject, ignoresCase: Bool) {
        remaining = object.members
        self.ignoresCase = ignoresCase
    }

    private func index(_ name: String) -> Int? {
        let name = folded(name)
        // The last member with a name counts.
        return remaining.lastIndex { folded($0.name) == name }
    }

    private func folded(_ name: String) -> String { ignoresCase ? name.lowercased() : name }

    private mutating func remove<Value>(_ name: String, _ convert: (JSONValue) -> Value?) -> Value? {
        guard let index = index(name), let value = convert(remaining[index].value) else { return nil }
        remaining.remove(at: index)
        return value
    }

    /// Removes and returns a member that is a string.
    mutating func text(_ name: String) -> String? { remove(name, \.string) }
    /// Removes and returns a member that is a Boolean.
    mutating func bool(_ name: String) -> Bool? { remove(name, \.bool) }
    /// Removes and returns a member that is an object.
    mutating func record(_ name: String) -> WireRecord? {
        remove(name, \.object).map { WireRecord($0, ignoresCase: ignoresCase) }
    }

    /// Removes and returns the elements of a list that match the condition; the others remain in the list.
    mutating func elements(_ name: String, where isIncluded: (WireRecord) -> Bool = { _ in true }) -> [WireRecord] {
        guard let index = index(name), let values = remaining[index].value.array else { return [] }
        var included: [WireRecord] = []
        var others: [JSONValue] = []
        for value in values {
            if let record = value.object.map({ WireRecord($0, ignoresCase: ignoresCase) }), isIncluded(record) {
                included.append(record)
            } else {
                others.append(value)
            }
        }
        if others.isEmpty {
            remaining.remove(at: index)
        } else {
            remaining[index].value = .array(others)
        }
        return included
    }

    /// Removes all members with this name.
    mutating func drop(_ name: String) {
        let name = folded(name)
        remaining = remaining.filter { folded($0.name) != name }
    }

    /// Returns a string without removing it.
    func peek(_ name: String) -> String? { index(name).flatMap { remaining[$0].value.string } }

    /// Whether the element of a list is the primary one.
    var isPrimary: Bool { index("primary").map { remaining[$0].value == true } ?? false }

    /// Returns whether the element has this type, such as `work`.
    func isOf(_ type: String) -> Bool { peek("type")?.lowercased() == type }
}

extension [WireRecord] {
    /// The primary element, otherwise one for work, otherwise the first.
    var preferred: WireRecord? { first(where: \.isPrimary) ?? first { $0.isOf("work") } ?? first }
}

extension JSONObject {
    /// Appends a string unless it is `nil`.
    mutating func add(_ name: String, _ text: String?) {
        if let text { append(name, .string(text)) }
    }

    /// Appends a member of each record as a list, if there are any.
    mutating func add(_ name: String, _ member: String, of records: [WireRecord]) {
        let texts = records.compactMap { $0.peek(member).map { JSONValue.string($0) } }
        if !texts.isEmpty { append(name, .array(texts)) }
    }

    /// Appends the members of an address, whose names are the same in SCIM and Google.
    mutating func add(address: WireRecord?) {
        for (name, member) in [
            ("streetAddress", "streetAddress"), ("city", "locality"), ("state", "region"),
            ("postalCode", "postalCode"), ("country", "country"),
        ] {
            add(name, address?.peek(member))
        }
    }

    /// Appends the remaining members, except members with the name of a property, which have a different meaning here.
    mutating func add(remaining record: WireRecord) {
        let known = Set(members.map(\.name))
        for member in record.remaining where !known.contains(member.name) && !member.name.hasPrefix("@odata.") {
            append(member.name, member.value)
        }
    }
}
