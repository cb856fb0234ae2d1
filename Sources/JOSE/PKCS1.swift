/// RSA keys in the form of PKCS #1, which Apple's Security framework reads and writes.
///
/// See [RFC 8017 appendix A.1](https://www.rfc-editor.org/rfc/rfc8017#appendix-A.1).
enum PKCS1 {
    private static let sequence: UInt8 = 0x30
    private static let integer: UInt8 = 0x02

    /// Returns `RSAPrivateKey` for a key pair and `RSAPublicKey` for a public key.
    ///
    /// Returns `nil` for a key pair without primes, which PKCS #1 cannot represent.
    static func encode(_ numbers: RSANumbers) -> [UInt8]? {
        var members = [numbers.n, numbers.e]
        if let d = numbers.d {
            guard numbers.remainders.count == RSANumbers.remainderNames.count else { return nil }
            // The version: two primes.
            members = [[0], numbers.n, numbers.e, d] + numbers.remainders
        }
        return element(sequence, members.flatMap { element(integer, minimal($0)) })
    }

    /// Returns the numbers of an `RSAPrivateKey` of two primes or of an `RSAPublicKey`; `nil` for other bytes.
    static func decode(_ bytes: [UInt8]) -> RSANumbers? {
        var outer = bytes[...]
        guard var content = read(sequence, &outer), outer.isEmpty else { return nil }
        var members: [[UInt8]] = []
        while !content.isEmpty {
            guard let member = read(integer, &content), let first = member.first, first < 0x80, members.count < 9 else {
                return nil
            }
            members.append(Array(member.drop { $0 == 0 }))
        }
        switch members.count {
        case 2: return RSANumbers(n: members[0], e: members[1])
        case 9 where members[0].isEmpty:
            return RSANumbers(n: members[1], e: members[2], d: members[3], remainders: Array(members[4...]))
        default: return nil
        }
    }

    /// Returns the shortest form: without leading zeros, except one in front of a high bit.
    private static func minimal(_ number: [UInt8]) -> [UInt8] {
        let number = number.drop { $0 == 0 }
        guard let first = number.first, first < 0x80 else { return [0] + number }
        return Array(number)
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var length: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + content
    }

    /// Removes an element with this tag from the start of the bytes and returns its content.
    private static func read(_ tag: UInt8, _ bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, let first = bytes.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            guard (1...3).contains(first & 0x7F), bytes.count >= first & 0x7F else { return nil }
            count = bytes.prefix(Int(first & 0x7F)).reduce(0) { $0 << 8 | Int($1) }
            bytes = bytes.dropFirst(Int(first & 0x7F))
        }
        guard count <= bytes.count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }
}
