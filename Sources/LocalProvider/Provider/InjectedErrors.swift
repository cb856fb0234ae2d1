import LodgePlatform

/// The errors that a ``LoopbackProvider`` injects, in order.
///
/// An injected error applies to a number of requests, or until it is removed. If several errors apply to an endpoint,
/// the first that is not used up is injected. The provider does not process such a request: no code is used, and no
/// token changes.
public struct InjectedErrors: Sendable, Equatable {
    /// The name of an injected error. The set is open: the provider ignores an unknown name.
    public struct Name: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name, such as `token-html`.
        public let rawValue: String

        /// Creates a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name.
        public var description: String { rawValue }
    }

    /// An injected error and its remaining number of requests.
    public struct Entry: Sendable, Equatable {
        /// The name of the injected error.
        public var name: Name
        /// The parameter, such as a value of Retry-After, or `nil` for the default.
        public var value: String?
        /// The remaining number of requests, or `nil` for all.
        public var remaining: Int?

        /// Creates an injected error for a number of requests. The default is all.
        public init(_ name: Name, value: String? = nil, remaining: Int? = nil) {
            self.name = name
            self.value = value
            self.remaining = remaining
        }
    }

    /// The error for an invalid description of an injected error.
    package struct ParsingError: Error, Sendable, Equatable, CustomStringConvertible {
        /// The reason.
        package let reason: String

        /// The reason and the names of all injected errors.
        package var description: String {
            "\(reason): use one of \(Name.all.map(\.rawValue).joined(separator: ", "))"
        }
    }

    /// The injected errors, in order.
    public private(set) var entries: [Entry] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list of injected errors, each for all requests.
    public init(_ names: Name...) { entries = names.map { Entry($0) } }

    /// Creates a list of injected errors.
    public init(_ entries: [Entry]) { self.entries = entries }

    /// Adds an injected error for the next `count` requests of its endpoint. The default is all.
    public mutating func add(_ name: Name, value: String? = nil, count: Int? = nil) {
        entries.append(Entry(name, value: value, remaining: count.map { max(0, $0) }))
    }

    /// Parses and adds an injected error.
    ///
    /// The syntax is a name such as `token-html`, a value after `=`, and a number of requests after `:`.
    ///
    /// `directory-429=2.5:3` applies to three requests, with `Retry-After: 2.5`. A value can contain colons: digits
    /// after the last one are the number of requests.
    ///
    /// - Throws: ``ParsingError`` if the name is unknown, the number is invalid, or the injected error has no value.
    package mutating func add(parsing text: String) throws(ParsingError) {
        let name = Name(rawValue: String(text.prefix { $0 != "=" && $0 != ":" }))
        guard name.summary != nil else { throw ParsingError(reason: "there is no injected error named \"\(name)\"") }
        var rest = text.dropFirst(name.rawValue.count)
        var count: Int?
        if let colon = rest.lastIndex(of: ":") {
            let digits = rest[rest.index(after: colon)...]
            if let number = Int(digits), number > 0 {
                count = number
                rest = rest[..<colon]
            } else if !rest.hasPrefix("=") || digits.allSatisfy(\.isNumber) {
                throw ParsingError(reason: "after \"\(name):\" a number of requests is expected, 1 or more")
            }
        }
        guard rest.isEmpty || rest.hasPrefix("=") else {
            throw ParsingError(reason: "after \"\(name):\" a number of requests is expected, 1 or more")
        }
        guard rest.isEmpty || name.takesValue else { throw ParsingError(reason: "\"\(name)\" takes no value") }
        add(name, value: rest.isEmpty ? nil : String(rest.dropFirst()), count: count)
    }

    /// Removes and returns the next injected error that has the prefix and matches the condition.
    mutating func take(_ prefix: String, where applies: (Name) -> Bool = { _ in true }) -> Entry? {
        guard
            let index = entries.firstIndex(where: {
                $0.name.rawValue.hasPrefix(prefix) && $0.name.summary != nil && $0.remaining != 0 && applies($0.name)
            })
        else { return nil }
        entries[index].remaining = entries[index].remaining.map { $0 - 1 }
        return entries[index]
    }
}

extension InjectedErrors.ParsingError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "The name of the injected error is not valid." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
}
