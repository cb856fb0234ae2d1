#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform

    /// A certificate in libcrypto's form. It never leaves the function that reads a file.
    final class CertificateHandle {
        let pointer: OpaquePointer

        /// Creates a handle that owns the certificate.
        init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit { X509_free(pointer) }

        /// Returns whether this certificate issued another one: by its name and its key.
        func issued(_ other: CertificateHandle) -> Bool {
            guard X509_check_issued(pointer, other.pointer) == X509_V_OK, let key = X509_get0_pubkey(pointer) else {
                return false
            }
            return X509_verify(other.pointer, key) == 1
        }

        /// Returns whether the private key is the key of the certificate.
        func hasKey(_ key: OpaquePointer) -> Bool { X509_check_private_key(pointer, key) == 1 }

        /// Returns the public key of the certificate.
        func publicKey() -> KeyHandle? { X509_get_pubkey(pointer).map(KeyHandle.init(owning:)) }

        var subject: String? { X509_get_subject_name(pointer).flatMap(Self.text) }

        /// Returns the value of the certificate, or `nil` if libcrypto cannot encode it.
        func certificate() -> Certificate? {
            let count = Int(i2d_X509(pointer, nil))
            guard count > 0, let subject, let start = Self.seconds(X509_get0_notBefore(pointer)),
                let end = Self.seconds(X509_get0_notAfter(pointer))
            else { return nil }
            let der = [UInt8](unsafeUninitializedCapacity: count) { output, written in
                var end = output.baseAddress
                written = Int(max(0, i2d_X509(pointer, &end)))
            }
            guard der.count == count else { return nil }
            return Certificate(
                der: der, subject: subject, notBefore: start, notAfter: end, sha1Thumbprint: SHA1.digest(der))
        }

        private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Double? {
            var parts = tm()
            guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
            return Double(timegm(&parts))
        }

        /// The form of RFC 4514 with a space after each comma, in UTF-8.
        private static let nameFlags: UInt = 0x313 | 2 << 16 | 1 << 20 | 1 << 24

        private static func text(_ name: OpaquePointer) -> String? {
            guard let output = BIO_new(BIO_s_mem()) else { return nil }
            defer { BIO_free(output) }
            guard X509_NAME_print_ex(output, name, 0, nameFlags) >= 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 1024)
            let count = Int(BIO_read(output, &bytes, Int32(bytes.count)))
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    extension CertificateIdentity {
        /// The maximum number of certificates in a file. A chain has three to five.
        static let maximumCertificateCount = 20

        /// Creates the identity of the certificate that has the key. The others can be its issuers, in any order.
        init(_ certificates: [CertificateHandle], key: KeyHandle) throws(CertificateError) {
            try Self.requireRSA(key)
            guard let numbers = key.rsaNumbers, key.isWholeRSAPair else {
                throw CertificateError(.key, "a damaged private key")
            }
            try self.init(
                certificates, leaf: certificates.first { $0.hasKey(key.pointer) },
                key: JWK(.rsa, nil, key, isPrivate: true, ["n": numbers.n, "e": numbers.e]), device: nil)
        }

        /// Creates the identity of the certificate whose key is in a device.
        init(_ certificates: [CertificateHandle], key device: DeviceKey) throws(CertificateError) {
            guard let index = try device.index(in: certificates), case let leaf = certificates[index],
                let key = leaf.publicKey(), let numbers = key.rsaNumbers
            else { throw Self.foreignKey }
            try self.init(
                certificates, leaf: leaf,
                key: JWK(.rsa, nil, key, isPrivate: false, ["n": numbers.n, "e": numbers.e]), device: device)
        }

        private static let foreignKey = CertificateError(
            .key, "the key of another certificate",
            hint: "the certificate and the key must be a pair: check both")

        /// Throws if Microsoft Entra and AD FS do not accept the key.
        static func requireRSA(_ key: KeyHandle) throws(CertificateError) {
            guard EVP_PKEY_is_a(key.pointer, "RSA") == 1 else {
                let name = EVP_PKEY_get0_type_name(key.pointer).map { String(cString: $0) } ?? "unknown"
                throw CertificateError(
                    .key, "a key of the type \(name)",
                    hint: "create a certificate with an RSA key: Microsoft Entra and AD FS accept no other type")
            }
            guard JWK.rsaBitCounts.contains(key.bitCount) else {
                throw CertificateError(
                    .key, "an RSA key of \(key.bitCount) bits",
                    hint: "create a certificate with an RSA key of \(JWK.rsaBitCounts.lowerBound) bits or more")
            }
        }

        private init(
            _ certificates: [CertificateHandle], leaf: CertificateHandle?, key: JWK, device: DeviceKey?
        ) throws(CertificateError) {
            guard certificates.count <= Self.maximumCertificateCount else {
                throw CertificateError(
                    .certificate, "more than \(Self.maximumCertificateCount) certificates",
                    hint: "keep only the certificate of the application and its intermediate certificates")
            }
            guard let leaf else {
                ERR_clear_error()
                throw Self.foreignKey
            }
            var rest = certificates.filter { $0 !== leaf }
            var issuers: [CertificateHandle] = []
            while let index = rest.firstIndex(where: { $0.issued(issuers.last ?? leaf) }) {
                issuers.append(rest.remove(at: index))
            }
            ERR_clear_error()
            guard let certificate = leaf.certificate(),
                case let values = issuers.compactMap({ $0.certificate() }), values.count == issuers.count
            else {
                ERR_clear_error()
                throw CertificateError(.certificate, "a damaged certificate")
            }
            self.init(
                certificate: certificate, issuers: values, unlinkedSubjects: rest.map { $0.subject ?? "" }, key: key,
                device: device)
        }
    }
#endif
