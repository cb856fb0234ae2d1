import LodgePlatform
import JOSE

/// A certificate for loopback addresses, and the certificate authority that signed it.
///
/// The authority's private key is not stored: it signs only this certificate.
///
/// See [RFC 5280](https://www.rfc-editor.org/rfc/rfc5280).
package struct LoopbackCertificate {
    /// The authority's certificate in PEM, for clients.
    package let authority: String
    /// The server's certificate in DER.
    package let certificate: [UInt8]
    /// The server's private key in DER. See RFC 5915.
    package let privateKey: [UInt8]

    private static let lifetime = 365 * 86_400

    /// Creates both certificates. They are valid from an hour ago, because clocks differ, until a year from now.
    ///
    /// - Throws: `JOSEError` if libcrypto fails.
    package init(now: Date, randomBytes: (Int) throws -> [UInt8]) throws {
        let (issuer, server) = (try KeyPair(), try KeyPair())
        let name = "lodge test CA " + Base64URL.encode(issuer.identifier.prefix(6))
        let validity = DER.sequence(
            Self.time(now, -3600), Self.time(now, Self.lifetime))
        func certificate(_ subject: String, _ key: KeyPair, _ extensions: [[UInt8]]) throws -> [UInt8] {
            var serial = try randomBytes(16)
            // Positive and not zero.
            serial[0] = serial[0] & 0x3F | 0x40
            let content = DER.sequence(
                DER.tagged(0, DER.integer([2])), DER.integer(serial), DER.sequence(Self.signatureAlgorithm),
                Self.name(name), validity, Self.name(subject), key.information,
                DER.tagged(3, DER.value(0x30, extensions.joined())))
            return DER.sequence(
                content, DER.sequence(Self.signatureAlgorithm), DER.bits(try issuer.signature(of: content)))
        }
        let authority = try certificate(
            name, issuer,
            [
                Self.extension(19, isCritical: true, DER.sequence(DER.boolean(true), DER.integer([0]))),
                // keyCertSign and cRLSign.
                Self.extension(15, isCritical: true, DER.bits([0x06], unused: 1)),
                Self.extension(14, DER.octets(issuer.identifier)),
            ])
        let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
        self.certificate = try certificate(
            "localhost", server,
            [
                Self.extension(19, isCritical: true, DER.sequence()),
                // digitalSignature.
                Self.extension(15, isCritical: true, DER.bits([0x80], unused: 7)),
                // serverAuth.
                Self.extension(37, DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 3, 1))),
                Self.extension(
                    17,
                    DER.sequence(
                        DER.implicit(2, Array("localhost".utf8)), DER.implicit(7, [127, 0, 0, 1]),
                        DER.implicit(7, loopback6))),
                Self.extension(14, DER.octets(server.identifier)),
                Self.extension(35, DER.sequence(DER.implicit(0, issuer.identifier))),
            ])
        privateKey = try server.privateKey()
        self.authority = Self.pem(authority)
    }

    /// ecdsa-with-SHA256. See RFC 5758 section 3.2.
    private static let signatureAlgorithm = DER.identifier(1, 2, 840, 10_045, 4, 3, 2)

    private static func name(_ commonName: String) -> [UInt8] {
        DER.sequence(DER.set(DER.sequence(DER.identifier(2, 5, 4, 3), DER.text(commonName))))
    }

    private static func `extension`(_ number: Int, isCritical: Bool = false, _ content: [UInt8]) -> [UInt8] {
        DER.sequence(
            DER.identifier(2, 5, 29, number), isCritical ? DER.boolean(true) : [], DER.octets(content))
    }

    private static func time(_ now: Date, _ offset: Int) -> [UInt8] {
        DER.time(String(now.addingTimeInterval(Double(offset)).rfc3339.prefix(19).filter(\.isNumber)))
    }

    private static func pem(_ bytes: [UInt8]) -> String {
        var text = "-----BEGIN CERTIFICATE-----\n"
        var rest = Substring(Data(bytes).base64EncodedString())
        while !rest.isEmpty {
            text += rest.prefix(64) + "\n"
            rest = rest.dropFirst(64)
        }
        return text + "-----END CERTIFICATE-----\n"
    }

    /// A P-256 key pair in the encodings of certificates.
    private struct KeyPair {
        private let key: JWK
        /// The public point, uncompressed. See RFC 5480 section 2.2.
        private let point: [UInt8]
        private static let curve = DER.identifier(1, 2, 840, 10_045, 3, 1, 7)

        init() throws {
            key = try JWK.generate(for: .es256)
            let members = key.publicJSON
            guard let x = members["x"]?.string.flatMap({ Base64URL.decode($0) }),
                let y = members["y"]?.string.flatMap({ Base64URL.decode($0) })
            else { throw JOSEError.cryptography("the key has no point") }
            point = [4] + x + y
        }

        /// The subject's public key.
        var information: [UInt8] {
            DER.sequence(DER.sequence(DER.identifier(1, 2, 840, 10_045, 2, 1), Self.curve), DER.bits(point))
        }

        /// The identifier of the key. See RFC 7093 section 2.
        var identifier: [UInt8] { Array(SHA2.sha256.digest(point).prefix(20)) }

        func signature(of content: [UInt8]) throws -> [UInt8] {
            let numbers = try key.signature(of: content, using: .es256)
            return DER.sequence(DER.integer(Array(numbers.prefix(32))), DER.integer(Array(numbers.dropFirst(32))))
        }

        func privateKey() throws -> [UInt8] {
            guard let number = try key.privateJSON()["d"]?.string.flatMap({ Base64URL.decode($0) }) else {
                throw JOSEError.cryptography("the key has no private number")
            }
            return DER.sequence(
                DER.integer([1]), DER.octets(number), DER.tagged(0, Self.curve), DER.tagged(1, DER.bits(point)))
        }
    }
}
