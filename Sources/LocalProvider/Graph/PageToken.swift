import JOSE

/// A place in a list, opaque to clients: what `$skiptoken` and `$deltatoken` carry.
///
/// The token is scrambled and has a check value over itself and what it belongs to, so that only tokens of this directory
/// are taken, each for its own query. It protects nothing: who forges one gets a page of the same list.
struct PageToken: Equatable, Sendable {
    /// What kind of list it goes on with.
    var kind: Kind
    /// Numbers whose meaning is the list's.
    var numbers: [Int] = []
    /// Names whose meaning is the list's.
    var names: [String] = []

    enum Kind: String, Sendable { case page, delta, deltaPage }

    private static let prefix = "RFNwdAoAAQ"

    /// The token for what it belongs to.
    func encoded(for identity: String) -> String {
        let text = ([kind.rawValue] + [numbers.map(String.init).joined(separator: ",")] + names).joined(separator: "|")
        let check = Self.check(text, identity)
        let bytes = Self.scrambled(Array(text.utf8), check)
        return Self.prefix + Base64URL.encode(withUnsafeBytes(of: check.bigEndian, Array.init) + bytes)
    }

    /// Reads a token; nil when it is none, or does not belong there.
    init?(_ token: String, for identity: String) {
        guard token.hasPrefix(Self.prefix), let bytes = Base64URL.decode(String(token.dropFirst(10))), bytes.count > 8
        else { return nil }
        let check = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let text = String(validating: Self.scrambled(Array(bytes.dropFirst(8)), check), as: UTF8.self),
            Self.check(text, identity) == check
        else { return nil }
        let parts = text.split(separator: "|", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count >= 2, let kind = Kind(rawValue: parts[0]) else { return nil }
        // Whoever forges a token gets no number that cannot be reckoned with.
        let numbers = parts[1].split(separator: ",").compactMap { Int($0) }.map { min(max($0, -1), 1_000_000_000_000) }
        self.init(kind: kind, numbers: numbers, names: Array(parts.dropFirst(2)))
    }

    init(kind: Kind, numbers: [Int], names: [String] = []) {
        self.kind = kind
        self.numbers = numbers
        self.names = names
    }

    /// FNV-1a.
    private static func check(_ text: String, _ identity: String) -> UInt64 {
        (text + "\n" + identity).utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func scrambled(_ bytes: [UInt8], _ key: UInt64) -> [UInt8] {
        let numbers = SplitMix64(seed: key)
        return bytes.enumerated().map { place, byte in byte ^ UInt8(truncatingIfNeeded: numbers[place]) }
    }
}

/// The options of a query as they were sent.
enum RawQuery {
    /// The raw options but those of these names, with and without `$`.
    static func without(_ names: Set<String>, _ query: String?) -> [String] {
        (query ?? "").split(separator: "&").filter { piece in
            var name = (PercentCoding.decode(piece.prefix { $0 != "=" }) ?? "").lowercased()
            if name.hasPrefix("$") { name.removeFirst() }
            return !names.contains(name)
        }.map { String($0) }
    }

    /// What a page token belongs to: the query without the token.
    static func identity(_ request: GraphRequest, _ generation: Int) -> String {
        "\(generation) \(request.path.lowercased())?"
            + without(["skiptoken", "again"], request.query).joined(separator: "&")
    }
}
