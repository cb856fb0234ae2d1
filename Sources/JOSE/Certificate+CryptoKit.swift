#if canImport(CryptoKit)
    import LodgePlatform

    // The files of a certificate: OpenSSL reads them on other systems.
    extension CertificateIdentity {
        /// Creates no identity: this system does not read PEM.
        package init(
            pem certificates: [UInt8], key: [UInt8]? = nil, password: Secret? = nil
        ) throws(CertificateError) { throw Self.unsupported }

        /// Creates no identity: this system does not read PKCS #12.
        package init(pkcs12 bytes: [UInt8], password: Secret? = nil) throws(CertificateError) {
            throw Self.unsupported
        }

        /// Creates no identity: this system does not read PEM.
        package init(pem certificates: [UInt8], key: DeviceKey) throws(CertificateError) { throw Self.unsupported }

        /// Returns no signature: no identity has a key in a device on this system.
        package func deviceSignature(
            of content: [UInt8], using algorithm: JWSAlgorithm
        ) throws(CertificateError) -> [UInt8] { throw Self.unsupported }

        private static let unsupported = CertificateError(
            .certificate, "a file with a certificate and its key, which this version does not read on Apple platforms")
    }

    extension JWK {
        /// Creates no key: this system does not read keys in PEM.
        package init(privateKeyPEM bytes: [UInt8]) throws(CertificateError) {
            throw CertificateError(.key, "a key in PEM, which this version does not read on Apple platforms")
        }
    }
#endif
