import JOSE
import LodgePlatform
import StrictJSON

/// A certificate of a client with an RSA key.
///
/// It parses the DER itself, so that it does not share errors with the clients that it tests.
///
/// See [RFC 5280 section 4.1](https://www.rfc-editor.org/rfc/rfc5280#section-4.1).
struct X509: Sendable, Equatable {
    let der: [UInt8]
    /// The names of subject and issuer in DER.
    let subject: [UInt8]
    let issuer: [UInt8]
    /// The validity, as 14 digits in UTC.
    let notBefore: String
    let notAfter: String
    let modulus: [UInt8]
    let exponent: [UInt8]
    /// Whether the certificate is one of an authority.
    let isAuthority: Bool
    private let signed: [UInt8]
    private let signature: [UInt8]

    /// Creates a certificate from DER, or returns `nil` if it is not one with an RSA key.
    init?(der: [UInt8]) {
        self.der = der
        guard var all = DERReader(sequence: der), let signed = all.raw(), all.skip(0x30),
            let signature = all.value(0x03)?.dropFirst(), var content = DERReader(sequence: signed)
        else { return nil }
        self.signed = Array(signed)
        self.signature = Array(signature)
        // Version, serial number and algorithm.
        _ = content.value(0xA0)
        guard content.skip(0x02), content.skip(0x30), let issuer = content.raw(), var validity = content.sequence(),
            let start = validity.time(), let end = validity.time(), let subject = content.raw(),
            var information = content.sequence(), information.skip(0x30),
            let key = information.value(0x03)?.dropFirst(), var numbers = DERReader(sequence: key),
            let modulus = numbers.value(0x02), let exponent = numbers.value(0x02)
        else { return nil }
        (self.issuer, self.subject) = (Array(issuer), Array(subject))
        (notBefore, notAfter) = (start, end)
        (self.modulus, self.exponent) = (Array(modulus.drop { $0 == 0 }), Array(exponent.drop { $0 == 0 }))
        isAuthority = Self.isAuthority(signed)
    }

    /// Returns whether the extension basicConstraints, 2.5.29.19, begins with a true Boolean.
    private static func isAuthority(_ signed: ArraySlice<UInt8>) -> Bool {
        let identifier: [UInt8] = [0x06, 0x03, 0x55, 0x1D, 0x13]
        guard let range = signed.firstRange(of: identifier) else { return false }
        // The extension is critical or not, and the value is in an octet string.
        var rest = DERReader(signed[range.upperBound...])
        _ = rest.value(0x01)
        guard let value = rest.value(0x04), var members = DERReader(sequence: value) else { return false }
        return members.value(0x01)?.first == 0xFF
    }

    /// Creates the certificates of a PEM file.
    static func certificates(pem: String) -> [X509] {
        pem.split(separator: "-----BEGIN CERTIFICATE-----", omittingEmptySubsequences: false).dropFirst().compactMap {
            part in
            guard let end = part.firstRange(of: "-----END CERTIFICATE-----") else { return nil }
            return X509(base64: part[..<end.lowerBound])
        }
    }

    /// Creates a certificate from base64, with or without line breaks.
    init?(base64: some StringProtocol) {
        guard let bytes = Data(base64Encoded: String(base64.filter { !$0.isWhitespace })) else { return nil }
        self.init(der: Array(bytes))
    }

    /// The public key.
    var key: JWK? {
        try? JWK([
            "kty": "RSA", "n": .string(Base64URL.encode(modulus)), "e": .string(Base64URL.encode(exponent)),
        ])
    }

    /// Returns whether this certificate issued another one, with RSA and SHA-256.
    func issued(_ other: X509) -> Bool {
        guard other.issuer == subject, let key else { return false }
        return (try? key.isSignature(other.signature, of: other.signed, using: .rs256)) ?? false
    }

    /// Returns whether the certificate is valid at a time, as 14 digits in UTC.
    func isValid(at time: String) -> Bool { notBefore <= time && time <= notAfter }
}

/// A reader of values in the Distinguished Encoding Rules.
private struct DERReader {
    private var bytes: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes)[...] }

    /// Creates a reader of the members of a sequence.
    init?(sequence bytes: some Sequence<UInt8>) {
        var reader = DERReader(bytes)
        guard let members = reader.sequence() else { return nil }
        self = members
    }

    /// Returns the next value with its tag and length.
    mutating func raw() -> ArraySlice<UInt8>? {
        guard let length = length() else { return nil }
        let all = bytes.prefix(length.header + length.content)
        bytes = bytes.dropFirst(all.count)
        return all
    }

    /// Returns the content of the next value if it has the tag.
    mutating func value(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard bytes.first == tag, let length = length(), let all = raw() else { return nil }
        return all.dropFirst(length.header)
    }

    mutating func skip(_ tag: UInt8) -> Bool { value(tag) != nil }

    /// Returns a reader of the next value, a sequence.
    mutating func sequence() -> DERReader? { value(0x30).map { DERReader($0) } }

    /// Returns a time as 14 digits. See RFC 5280 section 4.1.2.5.
    mutating func time() -> String? {
        if let short = value(0x17).map({ String(decoding: $0, as: UTF8.self) }) {
            return (short < "50" ? "20" : "19") + short.dropLast()
        }
        return value(0x18).map { String(decoding: $0.dropLast(), as: UTF8.self) }
    }

    /// Returns the sizes of the header and the content of the next value.
    private func length() -> (header: Int, content: Int)? {
        let header = Array(bytes.prefix(6))
        guard header.count >= 2 else { return nil }
        let first = Int(header[1])
        guard first >= 0x80 else { return bytes.count >= 2 + first ? (2, first) : nil }
        let count = first & 0x7F
        guard (1...3).contains(count), header.count >= 2 + count else { return nil }
        let content = header[2..<2 + count].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count >= 2 + count + content ? (2 + count, content) : nil
    }
}
