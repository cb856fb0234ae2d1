import JOSE

/// A position in a list, opaque to clients: the content of `$skiptoken` and `$deltatoken`.
///
/// The token is scrambled and has a checksum of itself and its query, so that the directory accepts only its own
/// tokens, each for its own query. This is not a security measure: a forged token returns a page of the same list.
struct PageToken: Equatable, Sendable {
    var kind: Kind
    /// Numbers with a meaning specific to the list.
    var numbers: [Int] = []
    /// Names with a meaning specific to the list.
    var names: [String] = []

    enum Kind: String, Sendable { case page, delta, deltaPage }

    private static let prefix = "RFNwdAoAAQ"
}

extension PageToken {
    /// Returns the encoded token for the given query.
    func encoded(for identity: String) -> String {
        let text = ([kind.rawValue] + [numbers.map(String.init).joined(separator: ",")] + names).joined(separator: "|")
        let check = Self.check(text, identity)
        let bytes = Self.scrambled(Array(text.utf8), check)
        return Self.prefix + Base64URL.encode(withUnsafeBytes(of: check.bigEndian, Array.init) + bytes)
    }

    /// Creates a token from its encoded form, or returns `nil` if it is invalid or belongs to another query.
    init?(_ token: String, for identity: String) {
        guard token.hasPrefix(Self.prefix), let bytes = Base64URL.decode(String(token.dropFirst(10))), bytes.count > 8
        else { return nil }
        let check = bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard let text = String(validating: Self.scrambled(Array(bytes.dropFirst(8)), check), as: UTF8.self),
            Self.check(text, identity) == check
        else { return nil }
        let parts = text.split(separator: "|", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count >= 2, let kind = Kind(rawValue: parts[0]) else { return nil }
        // A forged number must not overflow.
        let numbers = parts[1].split(separator: ",").compactMap { Int($0) }.map { min(max($0, -1), 1_000_000_000_000) }
        self.init(kind: kind, numbers: numbers, names: Array(parts.dropFirst(2)))
    }

    private static func check(_ text: String, _ identity: String) -> UInt64 {
        (text + "\n" + identity).utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func scrambled(_ bytes: [UInt8], _ key: UInt64) -> [UInt8] {
        let numbers = SplitMix64(seed: key)
        return bytes.enumerated().map { position, byte in byte ^ UInt8(truncatingIfNeeded: numbers[position]) }
    }
}
