#if canImport(CryptoKit)
    import CryptoKit
    import LodgePlatform
    import Security

    /// The cryptography of Apple platforms: CryptoKit, and Security for RSA and random bytes.
    enum Crypto {
        /// The name of the library in messages.
        static let name = "CryptoKit"
        /// The remedy if the library fails independently of the input.
        static let remedy = "Report it with the version of the system."

        // MARK: Bytes

        static func digest(_ bytes: UnsafeBufferPointer<UInt8>, _ algorithm: SHA2) -> [UInt8] {
            switch algorithm {
            case .sha256: hash(bytes, SHA256())
            case .sha384: hash(bytes, SHA384())
            case .sha512: hash(bytes, SHA512())
            }
        }

        private static func hash(_ bytes: UnsafeBufferPointer<UInt8>, _ function: some HashFunction) -> [UInt8] {
            var function = function
            function.update(bufferPointer: UnsafeRawBufferPointer(bytes))
            return Array(function.finalize())
        }

        static func authenticationCode(
            of content: [UInt8], key: UnsafeBufferPointer<UInt8>, _ digest: SHA2
        ) -> [UInt8]? {
            let key = SymmetricKey(data: UnsafeRawBufferPointer(key))
            return switch digest {
            case .sha256: Array(HMAC<SHA256>.authenticationCode(for: content, using: key))
            case .sha384: Array(HMAC<SHA384>.authenticationCode(for: content, using: key))
            case .sha512: Array(HMAC<SHA512>.authenticationCode(for: content, using: key))
            }
        }

        /// Fills the buffer with random bytes. Returns whether it succeeded.
        static func randomize(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Bool {
            guard let start = buffer.baseAddress else { return buffer.isEmpty }
            return SecRandomCopyBytes(kSecRandomDefault, buffer.count, start) == errSecSuccess
        }

        /// Compares in a time that depends only on the count.
        static func bytesEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
            timingsafe_bcmp(a, b, count) == 0
        }

        static func wipe(_ start: UnsafeMutableRawPointer, _ count: Int) { memset_s(start, count, 0, count) }

        // MARK: AES-256-GCM

        /// Initializes the library. CryptoKit needs no initialization.
        static func prepareSealing() {}

        /// Returns nonce, ciphertext and tag: with a nonce of 12 bytes, the combined form of CryptoKit.
        static func seal(
            _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], authenticating authenticated: [UInt8]
        ) -> [UInt8]? {
            let key = key.withBytes { SymmetricKey(data: UnsafeRawBufferPointer($0)) }
            guard let nonce = try? AES.GCM.Nonce(data: nonce),
                let box = try? AES.GCM.seal(plaintext, using: key, nonce: nonce, authenticating: authenticated)
            else { return nil }
            return box.combined.map { Array($0) }
        }

        static func open(_ sealed: [UInt8], key: SecretBytes, authenticating authenticated: [UInt8]) -> [UInt8]? {
            let key = key.withBytes { SymmetricKey(data: UnsafeRawBufferPointer($0)) }
            guard let box = try? AES.GCM.SealedBox(combined: sealed),
                let plaintext = try? AES.GCM.open(box, using: key, authenticating: authenticated)
            else { return nil }
            return Array(plaintext)
        }

        // MARK: Scrypt

        /// Throws: a copy sealed on another system must open everywhere, so no other function can replace scrypt.
        static func scrypt(
            _ parameters: Scrypt, passphrase: [UInt8], salt: [UInt8], count: Int
        ) throws(JOSEError) -> [UInt8] {
            throw .unsupported("CryptoKit does not have scrypt, which derives keys from passphrases")
        }
    }

    /// A key of CryptoKit or Security.
    ///
    /// Sendable is sound: the keys are complete before `init` and never change, and both frameworks allow several threads
    /// to use one key. `SecKey` is not annotated as Sendable.
    final class KeyHandle: @unchecked Sendable {
        private enum Key {
            case p256(P256.Signing.PublicKey, P256.Signing.PrivateKey?)
            case p384(P384.Signing.PublicKey, P384.Signing.PrivateKey?)
            case p521(P521.Signing.PublicKey, P521.Signing.PrivateKey?)
            case ed25519(Curve25519.Signing.PublicKey, Curve25519.Signing.PrivateKey?)
            case rsa(SecKey, SecKey?)
        }

        private let key: Key
        /// The size of the modulus or of the curve's field.
        let bitCount: Int

        private init(_ key: Key, bitCount: Int) {
            self.key = key
            self.bitCount = bitCount
        }

        // MARK: Creating keys

        /// Returns an RSA key.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if the library rejects the numbers; ``JOSEError/unsupported(_:)`` for a
        ///   key pair without its primes.
        static func rsa(_ numbers: RSANumbers) throws(JOSEError) -> KeyHandle {
            guard let bytes = PKCS1.encode(numbers) else {
                throw .unsupported("the Security framework reads private RSA keys only with p, q, dp, dq and qi")
            }
            let keyClass = numbers.d == nil ? kSecAttrKeyClassPublic : kSecAttrKeyClassPrivate
            let attributes: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeRSA, kSecAttrKeyClass as String: keyClass,
            ]
            guard let key = SecKeyCreateWithData(Data(bytes) as CFData, attributes as CFDictionary, nil),
                let handle = rsa(key, isPrivate: numbers.d != nil, bitCount: UnsignedNumber.bitCount(numbers.n))
            else { throw .invalidKey("the Security framework refuses it") }
            return handle
        }

        private static func rsa(_ key: SecKey, isPrivate: Bool, bitCount: Int) -> KeyHandle? {
            guard isPrivate else { return KeyHandle(.rsa(key, nil), bitCount: bitCount) }
            return SecKeyCopyPublicKey(key).map { KeyHandle(.rsa($0, key), bitCount: bitCount) }
        }

        /// Returns a key of a NIST curve.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if the point is not on the curve or `d` does not belong to it.
        static func ellipticCurve(
            _ curve: JWK.Curve, x: [UInt8], y: [UInt8], d: [UInt8]?
        ) throws(JOSEError) -> KeyHandle {
            let point = [4] + x + y
            guard let key = try? publicKey(curve, point) else {
                throw .invalidKey("the point is not on \(curve.rawValue)")
            }
            guard let d else { return key }
            guard let pair = try? privateKey(curve, d), pair.point == point else {
                throw .invalidKey("d does not belong to x and y")
            }
            return pair
        }

        private static func publicKey(_ curve: JWK.Curve, _ point: [UInt8]) throws -> KeyHandle? {
            switch curve {
            case .p256: KeyHandle(.p256(try P256.Signing.PublicKey(x963Representation: point), nil), bitCount: 256)
            case .p384: KeyHandle(.p384(try P384.Signing.PublicKey(x963Representation: point), nil), bitCount: 384)
            case .p521: KeyHandle(.p521(try P521.Signing.PublicKey(x963Representation: point), nil), bitCount: 521)
            case .ed25519: nil
            }
        }

        private static func privateKey(_ curve: JWK.Curve, _ d: [UInt8]) throws -> KeyHandle? {
            switch curve {
            case .p256: KeyHandle(try P256.Signing.PrivateKey(rawRepresentation: d))
            case .p384: KeyHandle(try P384.Signing.PrivateKey(rawRepresentation: d))
            case .p521: KeyHandle(try P521.Signing.PrivateKey(rawRepresentation: d))
            case .ed25519: KeyHandle(try Curve25519.Signing.PrivateKey(rawRepresentation: d))
            }
        }

        private convenience init(_ key: P256.Signing.PrivateKey) { self.init(.p256(key.publicKey, key), bitCount: 256) }
        private convenience init(_ key: P384.Signing.PrivateKey) { self.init(.p384(key.publicKey, key), bitCount: 384) }
        private convenience init(_ key: P521.Signing.PrivateKey) { self.init(.p521(key.publicKey, key), bitCount: 521) }
        private convenience init(_ key: Curve25519.Signing.PrivateKey) {
            self.init(.ed25519(key.publicKey, key), bitCount: 256)
        }

        /// Returns an Ed25519 key.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if `d` does not belong to `x`.
        static func ed25519(x: [UInt8], d: [UInt8]?) throws(JOSEError) -> KeyHandle {
            guard let d else {
                guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: x) else {
                    throw .invalidKey("CryptoKit refuses it")
                }
                return KeyHandle(.ed25519(key, nil), bitCount: 256)
            }
            guard let pair = try? privateKey(.ed25519, d), pair.point == x else {
                throw .invalidKey("d does not belong to x")
            }
            return pair
        }

        /// Returns a new key pair, or `nil` if the library fails.
        static func generate(_ curve: JWK.Curve) -> KeyHandle? {
            switch curve {
            case .p256: KeyHandle(P256.Signing.PrivateKey())
            case .p384: KeyHandle(P384.Signing.PrivateKey())
            case .p521: KeyHandle(P521.Signing.PrivateKey())
            case .ed25519: KeyHandle(Curve25519.Signing.PrivateKey())
            }
        }

        /// Returns a new key pair with the exponent 65537, or `nil` if the library fails.
        static func generateRSA(bits: Int) -> KeyHandle? {
            let attributes: [String: Any] = [
                kSecAttrKeyType as String: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits as String: bits,
            ]
            return SecKeyCreateRandomKey(attributes as CFDictionary, nil).flatMap {
                rsa($0, isPrivate: true, bitCount: bits)
            }
        }

        // MARK: Reading keys

        /// The numbers of an RSA key, with the private ones if the key has them.
        var rsaNumbers: RSANumbers? {
            guard case .rsa(let publicKey, let privateKey) = key,
                let bytes = SecKeyCopyExternalRepresentation(privateKey ?? publicKey, nil)
            else { return nil }
            return PKCS1.decode(Array(bytes as Data))
        }

        /// The public key of a curve: 4, x and y, or the 32 bytes of Ed25519.
        var point: [UInt8]? {
            switch key {
            case .p256(let key, _): Array(key.x963Representation)
            case .p384(let key, _): Array(key.x963Representation)
            case .p521(let key, _): Array(key.x963Representation)
            case .ed25519(let key, _): Array(key.rawRepresentation)
            case .rsa: nil
            }
        }

        /// The private number of a curve, as long as a coordinate.
        var privateNumber: [UInt8]? {
            switch key {
            case .p256(_, let key): key.map { Array($0.rawRepresentation) }
            case .p384(_, let key): key.map { Array($0.rawRepresentation) }
            case .p521(_, let key): key.map { Array($0.rawRepresentation) }
            case .ed25519(_, let key): key.map { Array($0.rawRepresentation) }
            case .rsa: nil
            }
        }

        // MARK: Signatures

        /// Verifies a signature that has the length of the algorithm.
        func verify(_ signature: [UInt8], _ content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            switch key {
            case .p256(let key, _):
                guard let pair = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
                return key.isValidSignature(pair, for: SHA256.hash(data: content))
            case .p384(let key, _):
                guard let pair = try? P384.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
                return key.isValidSignature(pair, for: SHA384.hash(data: content))
            case .p521(let key, _):
                guard let pair = try? P521.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
                return key.isValidSignature(pair, for: SHA512.hash(data: content))
            case .ed25519(let key, _):
                return key.isValidSignature(signature, for: content)
            case .rsa(let key, _):
                guard let kind = algorithm.secKeyAlgorithm else { return false }
                let digest = Data(algorithm.digest.digest(content)) as CFData
                return SecKeyVerifySignature(key, kind, digest, Data(signature) as CFData, nil)
            }
        }

        func sign(_ content: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            switch key {
            case .p256(_, let key):
                (try? key?.signature(for: SHA256.hash(data: content))).map { Array($0.rawRepresentation) }
            case .p384(_, let key):
                (try? key?.signature(for: SHA384.hash(data: content))).map { Array($0.rawRepresentation) }
            case .p521(_, let key):
                (try? key?.signature(for: SHA512.hash(data: content))).map { Array($0.rawRepresentation) }
            case .ed25519(_, let key):
                (try? key?.signature(for: content)).map { Array($0) }
            case .rsa(_, let key):
                rsaSignature(content, algorithm, key)
            }
        }

        private func rsaSignature(_ content: [UInt8], _ algorithm: JWSAlgorithm, _ key: SecKey?) -> [UInt8]? {
            guard let key, let kind = algorithm.secKeyAlgorithm else { return nil }
            let digest = Data(algorithm.digest.digest(content)) as CFData
            return SecKeyCreateSignature(key, kind, digest, nil).map { Array($0 as Data) }
        }
    }

    extension JWSAlgorithm {
        /// The algorithm of Security that signs a digest. Its PSS has a salt as long as the digest.
        fileprivate var secKeyAlgorithm: SecKeyAlgorithm? {
            switch self {
            case .rs256: .rsaSignatureDigestPKCS1v15SHA256
            case .rs384: .rsaSignatureDigestPKCS1v15SHA384
            case .rs512: .rsaSignatureDigestPKCS1v15SHA512
            case .ps256: .rsaSignatureDigestPSSSHA256
            case .ps384: .rsaSignatureDigestPSSSHA384
            case .ps512: .rsaSignatureDigestPSSSHA512
            default: nil
            }
        }
    }

    extension KeyHandle: Redacted {
        var description: String { "KeyHandle(hidden)" }
    }
#endif
