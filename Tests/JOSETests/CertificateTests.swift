import LodgePlatform
import TestSupport
import Testing

@testable import JOSE

#if !canImport(CryptoKit)
    @Suite struct CertificateTests {
        private let password = Secret(SampleCertificate.password)

        private func identity(_ name: String, key: String? = nil, password: Secret? = nil) throws -> CertificateIdentity
        {
            let bytes = try SampleCertificate.bytes(name)
            return name.hasSuffix(".pfx")
                ? try CertificateIdentity(pkcs12: bytes, password: password)
                : try CertificateIdentity(pem: bytes, key: key.map(SampleCertificate.bytes), password: password)
        }

        private func error(_ name: String, key: String? = nil, password: Secret? = nil) throws -> CertificateError {
            try #require(throws: CertificateError.self) { try identity(name, key: key, password: password) }
        }

        @Test(arguments: [
            ("app.pem", nil, false), ("app-key-first.pem", nil, false), ("app-encrypted.pem", nil, true),
            ("app-certificate.pem", "app-key.pem", false), ("app.pfx", nil, true), ("app-no-password.pfx", nil, false),
        ])
        func `a certificate and its key are read from each form of file`(
            file: String, key: String?, isEncrypted: Bool
        ) throws {
            let identity = try identity(file, key: key, password: isEncrypted ? password : nil)
            #expect(identity.certificate.subject == "CN=app, O=Contoso")
            #expect(
                Certificate.hexadecimal(identity.certificate.sha1Thumbprint)
                    == (try SampleCertificate.thumbprint("app.pem", "sha1")))
            #expect(
                Certificate.hexadecimal(identity.certificate.sha256Thumbprint)
                    == (try SampleCertificate.thumbprint("app.pem", "sha256")))
            // 2026-01-01 and 2126-01-01.
            #expect(identity.certificate.notBefore == 1_767_225_600 && identity.certificate.notAfter == 4_922_899_200)
            #expect(identity.issuers.isEmpty && identity.unlinkedSubjects.isEmpty)
            let content = Array("content".utf8)
            for algorithm in [JWSAlgorithm.ps256, .rs256] {
                let signature = try identity.key.signature(of: content, using: algorithm)
                #expect(try identity.key.isSignature(signature, of: content, using: algorithm))
            }
            #expect(try JWK(identity.key.privateJSON()).publicJSON == identity.key.publicJSON)
            #expect("\(identity)" == "certificate CN=app, O=Contoso")
        }

        @Test func `the password of a file without one is empty or missing`() throws {
            #expect(
                try identity("app-no-password.pfx", password: Secret("")).certificate.subject == "CN=app, O=Contoso")
        }

        @Test func `the issuers are in the order of the chain`() throws {
            let pem = try identity("chain.pem")
            #expect(pem.chain.map(\.subject) == ["CN=chained, O=Contoso", "CN=intermediate, O=Contoso"])
            // The file has the root before the intermediate certificate.
            let pkcs12 = try identity("chain.pfx", password: password)
            #expect(
                pkcs12.chain.map(\.subject) == [
                    "CN=chained, O=Contoso", "CN=intermediate, O=Contoso", "CN=root, O=Contoso",
                ])
            #expect(pkcs12.certificate == pem.certificate)
        }

        @Test func `the certificates of a PEM file can be in any order`() throws {
            let chain = String(decoding: try SampleCertificate.bytes("chain.pem"), as: UTF8.self)
            let root = String(decoding: try SampleCertificate.bytes("root.pem"), as: UTF8.self)
            let end = "-----END CERTIFICATE-----\n"
            let parts = chain.split(separator: "-----BEGIN", omittingEmptySubsequences: true).map { "-----BEGIN" + $0 }
            try #require(parts.count == 3 && parts[2].hasSuffix(end))
            let shuffled = try CertificateIdentity(pem: Array((root + parts[2] + parts[1] + parts[0]).utf8))
            #expect(
                shuffled.chain.map(\.subject) == [
                    "CN=chained, O=Contoso", "CN=intermediate, O=Contoso", "CN=root, O=Contoso",
                ])
            #expect(shuffled.unlinkedSubjects.isEmpty)
        }

        @Test func `a file with 100 certificates is rejected`() throws {
            let bytes = try SampleCertificate.bytes("app.pem")
            let root = try SampleCertificate.bytes("root.pem")
            let many = bytes + Array(repeating: root, count: 99).joined()
            #expect(try error("many.pem", bytes: many).found == "more than 20 certificates")
            #expect(try CertificateIdentity(pem: bytes + Array(repeating: root, count: 19).joined()).issuers.isEmpty)
        }

        @Test func `a certificate that issued none of the others is reported`() throws {
            let identity = try identity("unlinked.pem")
            #expect(identity.chain.count == 1 && identity.unlinkedSubjects == ["CN=app, O=Contoso"])
        }

        @Test(arguments: [
            ("weak.pem", "an RSA key of 1024 bits"), ("ec.pem", "a key of the type EC"),
            ("foreign-key.pem", "the key of another certificate"), ("app-certificate.pem", "no private key in PEM"),
        ])
        func `a key that cannot sign for the certificate is rejected with the reason`(file: String, found: String)
            throws
        {
            let error = try error(file)
            #expect(error.part == .key && error.found == found)
        }

        @Test func `an error of a password does not contain it`() throws {
            for (file, part) in [("app-encrypted.pem", "the key"), ("app.pfx", "the file")] {
                let wrong = try error(file, password: Secret("not the password"))
                #expect(wrong.part == .password && wrong.found == "a password that does not open \(part)")
                let missing = try error(file)
                #expect(missing.hint?.description.contains("password") == true, "\(missing)")
            }
        }

        @Test func `a file with an outdated algorithm is rejected with its name`() throws {
            let error = try error("app-rc2.pfx", password: password)
            #expect(error.unsupportedAlgorithm == "RC2-40-CBC")
            #expect(error.found == "a PKCS #12 file that is encrypted with RC2-40-CBC, which OpenSSL 3 does not read")
        }

        @Test func `a file without a certificate is rejected`() throws {
            #expect(try error("app-key.pem").found == "no certificate in PEM")
            #expect(try error("app.pfx.pem", bytes: SampleCertificate.bytes("app.pfx")).found == "a binary file")
            #expect(try error("empty.pem", bytes: []).found == "no certificate in PEM")
            #expect(
                try error("app.pfx", bytes: SampleCertificate.bytes("app.pem")).found == "a file that is not PKCS #12")
        }

        private func error(_ name: String, bytes: [UInt8]) throws -> CertificateError {
            try #require(throws: CertificateError.self) {
                if name.hasSuffix(".pfx") {
                    try CertificateIdentity(pkcs12: bytes)
                } else {
                    try CertificateIdentity(pem: bytes)
                }
            }
        }

        @Test func `a key file of a TPM is rejected with the remedy`() throws {
            let text = "-----BEGIN TSS2 PRIVATE KEY-----\nMAA=\n-----END TSS2 PRIVATE KEY-----\n"
            let error = try error("a.pem", bytes: SampleCertificate.bytes("app-certificate.pem") + Array(text.utf8))
            #expect(error.found == "a key that only a TPM can load")
            #expect(error.hint?.description.contains("handle:0x81000001") == true)
        }

        @Test func `a damaged PEM file is rejected`() throws {
            let text = String(decoding: try SampleCertificate.bytes("app.pem"), as: UTF8.self)
            let certificate = text.replacing(
                "-----BEGIN CERTIFICATE-----\nMII", with: "-----BEGIN CERTIFICATE-----\nMI!")
            #expect(try error("a.pem", bytes: Array(certificate.utf8)).found == "a damaged certificate")
            let key = text.replacing("-----BEGIN PRIVATE KEY-----\nMII", with: "-----BEGIN PRIVATE KEY-----\nMIJ")
            #expect(try error("a.pem", bytes: Array(key.utf8)).found == "a damaged private key")
        }

        @Test func `a key whose last number is wrong is rejected`() throws {
            let text = String(decoding: try SampleCertificate.bytes("app.pem"), as: UTF8.self)
            let begin = try #require(text.range(of: "-----BEGIN PRIVATE KEY-----\n"))
            let end = try #require(text.range(of: "-----END PRIVATE KEY-----"))
            let body = text[begin.upperBound..<end.lowerBound]
            var key = try #require(Data(base64Encoded: String(body), options: .ignoreUnknownCharacters))
            // The coefficient of PKCS #1, an integer of 129 bytes, becomes negative.
            try #require(key.suffix(132).prefix(4) == Data([0x02, 0x81, 0x81, 0x00]))
            key[key.endIndex - 129] = 0x81
            let changed = text.replacing(body, with: key.base64EncodedString(options: .lineLength64Characters) + "\n")
            #expect(try error("a.pem", bytes: Array(changed.utf8)).found == "a damaged private key")
            let start = try #require(changed.range(of: "-----BEGIN PRIVATE KEY-----"))
            let damaged = #expect(throws: CertificateError.self) {
                try JWK(privateKeyPEM: Array(changed[start.lowerBound...].utf8))
            }
            #expect(damaged?.found == "a damaged private key")
        }

        @Test(arguments: ["app.pem", "app-encrypted.pem", "app.pfx", "chain.pfx", "app-rc2.pfx"])
        func `a changed or truncated file never crashes`(file: String) throws {
            let bytes = try SampleCertificate.bytes(file)
            var numbers = RobustnessTests.Numbers(state: 1)
            for round in 0..<60 {
                var changed = bytes
                if round.isMultiple(of: 3) {
                    changed.removeLast(Int.random(in: 1..<bytes.count, using: &numbers))
                } else {
                    for _ in 0...(round % 4) {
                        let index = Int.random(in: 0..<bytes.count, using: &numbers)
                        changed[index] = UInt8.random(in: 0...255, using: &numbers)
                    }
                }
                // A change outside the keys and the certificates has no effect.
                if file.hasSuffix(".pfx") {
                    _ = try? CertificateIdentity(pkcs12: changed, password: password)
                } else {
                    _ = try? CertificateIdentity(pem: changed, password: password)
                }
            }
        }
    }
#endif

@Suite struct SHA1Tests {
    @Test(arguments: [
        ("", "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"), ("abc", "A9993E364706816ABA3E25717850C26C9CD0D89D"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983E441C3BD26EBAAE4AA1F95129E5E54670F1"
        ),
    ])
    func `the SHA-1 digests of FIPS 180 are correct`(text: String, digest: String) {
        #expect(Certificate.hexadecimal(SHA1.digest(Array(text.utf8))) == digest)
    }
}
