/// The disturbances that a ``LoopbackProvider`` plays, in order.
///
/// A fault plays for a number of requests, or until it is taken away. Of several faults of one endpoint the first one
/// that is not used up plays. A request that meets a fault is not processed otherwise: no code is used, no token changes.
public struct Faults: Sendable, Equatable {
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
        /// How many more requests meet it; nil for all.
        public var remaining: Int?

        /// A fault for this many requests, or for all.
        public init(_ name: Name, remaining: Int? = nil) {
            self.name = name
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
    public mutating func add(_ name: Name, count: Int? = nil) {
        entries.append(Entry(name, remaining: count.map { max(0, $0) }))
    }

    /// Adds the fault of a text such as `token-html` or, for the next three requests, `token-html:3`.
    ///
    /// - Throws: ``FaultError`` when the name is unknown or the number is none.
    public mutating func add(parsing text: String) throws(FaultError) {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = Name(rawValue: String(parts.first ?? ""))
        guard name.summary != nil else { throw FaultError(reason: "there is no fault named \"\(name)\"") }
        guard parts.count > 1 else { return add(name) }
        guard let count = Int(parts[1]), count > 0 else {
            throw FaultError(reason: "after \"\(name):\" a number of requests is expected, 1 or more")
        }
        add(name, count: count)
    }

    /// Uses the next fault whose name begins so.
    mutating func take(_ prefix: String) -> Name? {
        guard
            let index = entries.firstIndex(where: {
                $0.name.rawValue.hasPrefix(prefix) && $0.name.summary != nil && $0.remaining != 0
            })
        else { return nil }
        entries[index].remaining = entries[index].remaining.map { $0 - 1 }
        return entries[index].name
    }
}

/// Why a text names no fault.
public struct FaultError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    public let reason: String

    /// The reason and where the names are listed.
    public var description: String {
        "\(reason): use one of \(Faults.Name.all.map(\.rawValue).joined(separator: ", "))"
    }
}

extension Faults.Name {
    /// The token endpoint answers with a page, as a captive portal does.
    public static let tokenHTML = Self(rawValue: "token-html")
    /// The token endpoint's answer ends in the middle of the JSON, though HTTP calls it complete.
    public static let tokenHalfJSON = Self(rawValue: "token-half-json")
    /// The token endpoint answers 10 GB.
    public static let tokenHuge = Self(rawValue: "token-huge")
    /// The token endpoint closes the connection without an answer.
    public static let tokenNothing = Self(rawValue: "token-nothing")
    /// The token endpoint never answers.
    public static let tokenStall = Self(rawValue: "token-stall")
    /// The token endpoint answers 500.
    public static let token500 = Self(rawValue: "token-500")
    /// The token endpoint answers 503.
    public static let token503 = Self(rawValue: "token-503")
    /// The token endpoint answers 429 with Retry-After.
    public static let token429 = Self(rawValue: "token-429")
    /// The token endpoint answers `invalid_grant`.
    public static let tokenInvalidGrant = Self(rawValue: "token-invalid-grant")
    /// The token endpoint answers `invalid_client`.
    public static let tokenInvalidClient = Self(rawValue: "token-invalid-client")
    /// The token endpoint answers `temporarily_unavailable`.
    public static let tokenTemporarilyUnavailable = Self(rawValue: "token-temporarily-unavailable")
    /// The directory answers 401.
    public static let directory401 = Self(rawValue: "directory-401")
    /// The directory answers 403.
    public static let directory403 = Self(rawValue: "directory-403")
    /// The directory answers 404.
    public static let directory404 = Self(rawValue: "directory-404")
    /// The directory answers 429 with Retry-After.
    public static let directory429 = Self(rawValue: "directory-429")
    /// The directory answers 503.
    public static let directory503 = Self(rawValue: "directory-503")
    /// The directory answers with a gateway's page.
    public static let directoryHTML = Self(rawValue: "directory-html")
    /// The directory's answer breaks off.
    public static let directoryCut = Self(rawValue: "directory-cut")
    /// The directory's answer comes slowly, in small pieces.
    public static let directorySlow = Self(rawValue: "directory-slow")
    /// A list's next page is at another host.
    public static let directoryForeignNextLink = Self(rawValue: "directory-nextlink-foreign")
    /// A list's next page is the same page again.
    public static let directoryNextLinkLoop = Self(rawValue: "directory-nextlink-loop")
    /// A list's page is empty and has a next page.
    public static let directoryEmptyPage = Self(rawValue: "directory-empty-page")

    /// Every fault that the provider can play, in the order in which they are listed to people.
    public static let all: [Self] = summaries.map(\.0)

    /// What the fault does, in a few words; nil for a name that the provider does not know.
    public var summary: String? { Self.summaries.first { $0.0 == self }?.1 }

    private static let summaries: [(Self, String)] = [
        (.tokenHTML, "the token endpoint answers a web page with status 200, as a captive portal does"),
        (.tokenHalfJSON, "the token endpoint answers half of a JSON text"),
        (.tokenHuge, "the token endpoint answers 10 GB"),
        (.tokenNothing, "the token endpoint closes the connection without an answer"),
        (.tokenStall, "the token endpoint never answers"),
        (.token500, "the token endpoint answers 500"),
        (.token503, "the token endpoint answers 503"),
        (.token429, "the token endpoint answers 429 with Retry-After"),
        (.tokenInvalidGrant, "the token endpoint answers invalid_grant"),
        (.tokenInvalidClient, "the token endpoint answers invalid_client"),
        (.tokenTemporarilyUnavailable, "the token endpoint answers temporarily_unavailable"),
        (.directory401, "the directory answers 401"),
        (.directory403, "the directory answers 403"),
        (.directory404, "the directory answers 404"),
        (.directory429, "the directory answers 429 with Retry-After"),
        (.directory503, "the directory answers 503"),
        (.directoryHTML, "the directory answers 504 with a gateway's web page"),
        (.directoryCut, "the directory's answer breaks off"),
        (.directorySlow, "the directory's answer comes slowly, in small pieces"),
        (.directoryForeignNextLink, "a list's next page is at another host"),
        (.directoryNextLinkLoop, "a list's next page is the same page again"),
        (.directoryEmptyPage, "a list's page is empty and has a next page"),
    ]
}
