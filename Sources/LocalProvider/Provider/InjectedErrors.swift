/// The disturbances that a ``LoopbackProvider`` plays, in order.
///
/// A fault plays for a number of requests, or until it is taken away. Of several faults of one endpoint the first one
/// that is not used up plays. A request that meets a fault is not processed otherwise: no code is used, no token changes.
public struct InjectedErrors: Sendable, Equatable {
    /// The name of a fault. The set is open: a name that the provider does not know plays nothing.
    public struct Name: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name, such as `token-html`.
        public let rawValue: String

        /// A fault of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name.
        public var description: String { rawValue }
    }

    /// One fault and how often it still plays.
    public struct Entry: Sendable, Equatable {
        /// Which fault.
        public var name: Name
        /// What the fault is played with, such as a value of Retry-After; nil for the usual. See ``Name/summary``.
        public var value: String?
        /// How many more requests meet it; nil for all.
        public var remaining: Int?

        /// A fault for this many requests, or for all.
        public init(_ name: Name, value: String? = nil, remaining: Int? = nil) {
            self.name = name
            self.value = value
            self.remaining = remaining
        }
    }

    /// The faults in the order in which they play.
    public private(set) var entries: [Entry] = []

    /// No faults.
    public init() {}

    /// These faults, each for every request.
    public init(_ names: Name...) { entries = names.map { Entry($0) } }

    /// These faults.
    public init(_ entries: [Entry]) { self.entries = entries }

    /// Adds a fault for the next `count` requests of its endpoint, or for all.
    public mutating func add(_ name: Name, value: String? = nil, count: Int? = nil) {
        entries.append(Entry(name, value: value, remaining: count.map { max(0, $0) }))
    }

    /// Adds the fault of a text: a name such as `token-html`, a value after `=` and a number of requests after `:`.
    ///
    /// `directory-429=2.5:3` plays for three requests with `Retry-After: 2.5`. A value may have colons: digits after the
    /// last one are the number.
    ///
    /// - Throws: ``FaultError`` when the name is unknown, the number is none, or the fault takes no value.
    public mutating func add(parsing text: String) throws(FaultError) {
        let name = Name(rawValue: String(text.prefix { $0 != "=" && $0 != ":" }))
        guard name.summary != nil else { throw FaultError(reason: "there is no fault named \"\(name)\"") }
        var rest = text.dropFirst(name.rawValue.count)
        var count: Int?
        if let colon = rest.lastIndex(of: ":") {
            let digits = rest[rest.index(after: colon)...]
            if let number = Int(digits), number > 0 {
                count = number
                rest = rest[..<colon]
            } else if !rest.hasPrefix("=") || digits.allSatisfy(\.isNumber) {
                throw FaultError(reason: "after \"\(name):\" a number of requests is expected, 1 or more")
            }
        }
        guard rest.isEmpty || rest.hasPrefix("=") else {
            throw FaultError(reason: "after \"\(name):\" a number of requests is expected, 1 or more")
        }
        guard rest.isEmpty || name.takesValue else { throw FaultError(reason: "\"\(name)\" takes no value") }
        add(name, value: rest.isEmpty ? nil : String(rest.dropFirst()), count: count)
    }

    /// Uses the next fault whose name begins so and that can play now.
    mutating func take(_ prefix: String, where canPlay: (Name) -> Bool = { _ in true }) -> Entry? {
        guard
            let index = entries.firstIndex(where: {
                $0.name.rawValue.hasPrefix(prefix) && $0.name.summary != nil && $0.remaining != 0 && canPlay($0.name)
            })
        else { return nil }
        entries[index].remaining = entries[index].remaining.map { $0 - 1 }
        return entries[index]
    }
}

/// Why a text names no fault.
public struct FaultError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    public let reason: String

    /// The reason and where the names are listed.
    public var description: String {
        "\(reason): use one of \(InjectedErrors.Name.all.map(\.rawValue).joined(separator: ", "))"
    }
}
