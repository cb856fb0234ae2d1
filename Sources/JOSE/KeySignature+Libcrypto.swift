#if !canImport(CryptoKit)
    import CLodgeOpenSSL

    // Signatures in the forms of RFC 7518 section 3.
    extension KeyHandle {
        /// Verifies a signature that has the length of the algorithm.
        func verify(_ signature: [UInt8], _ content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            let isValid =
                switch algorithm.keyType {
                case .rsa: verify(signature, digest: algorithm.digest.digest(content), algorithm)
                case .ec: verifyECDSA(signature, content, algorithm)
                case .okp: verifyEd25519(signature, content)
                case .symmetric: false
                }
            // A failed verification leaves its reasons in libcrypto's error queue of the thread.
            if !isValid { ERR_clear_error() }
            return isValid
        }

        func sign(_ content: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            let signature: [UInt8]? =
                switch algorithm.keyType {
                case .rsa: signDigest(algorithm.digest.digest(content), algorithm)
                case .ec:
                    signDigest(algorithm.digest.digest(content), algorithm).flatMap { Self.fixedLength($0, algorithm) }
                case .okp: signEd25519(content)
                case .symmetric: nil
                }
            if signature == nil { ERR_clear_error() }
            return signature
        }

        private func verifyECDSA(_ signature: [UInt8], _ content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            guard let half = algorithm.curve?.coordinateByteCount,
                let encoded = Self.derEncoded(signature, half)
            else { return false }
            return verify(encoded, digest: algorithm.digest.digest(content), algorithm)
        }

        private func verify(_ signature: [UInt8], digest: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            verify(algorithm) { context in
                // Only 1 is a match: 0 is a different signature, and a negative result is an error.
                EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
            }
        }

        private func verifyEd25519(_ signature: [UInt8], _ content: [UInt8]) -> Bool {
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            return EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, pointer, nil) == 1
                && EVP_DigestVerify(context, signature, signature.count, content, content.count) == 1
        }

        private func signDigest(_ digest: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            guard let context = context(algorithm, signing: true) else { return nil }
            defer { EVP_PKEY_CTX_free(context) }
            var count = Int(EVP_PKEY_get_size(pointer))
            guard count > 0 else { return nil }
            var signature = [UInt8](repeating: 0, count: count)
            guard EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1 else { return nil }
            return Array(signature.prefix(count))
        }

        private func signEd25519(_ content: [UInt8]) -> [UInt8]? {
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: 64)
            var count = signature.count
            guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, pointer, nil) == 1,
                EVP_DigestSign(context, &signature, &count, content, content.count) == 1, count == 64
            else { return nil }
            return signature
        }

        /// Returns R and S as the DER sequence of libcrypto. RFC 7518 section 3.4 concatenates them.
        private static func derEncoded(_ signature: [UInt8], _ half: Int) -> [UInt8]? {
            guard let pair = ECDSA_SIG_new() else { return nil }
            defer { ECDSA_SIG_free(pair) }
            let numbers: (r: OpaquePointer, s: OpaquePointer)? = signature.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress, let r = BN_bin2bn(start, Int32(half), nil) else { return nil }
                guard let s = BN_bin2bn(start + half, Int32(half), nil) else {
                    BN_free(r)
                    return nil
                }
                return (r, s)
            }
            guard let numbers else { return nil }
            guard ECDSA_SIG_set0(pair, numbers.r, numbers.s) == 1 else {
                BN_free(numbers.r)
                BN_free(numbers.s)
                return nil
            }
            let count = Int(i2d_ECDSA_SIG(pair, nil))
            guard count > 0 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: count) { output, written in
                var end = output.baseAddress
                written = Int(max(0, i2d_ECDSA_SIG(pair, &end)))
            }
        }

        /// Returns R and S concatenated, each as long as a coordinate.
        private static func fixedLength(_ encoded: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            guard let half = algorithm.curve?.coordinateByteCount else { return nil }
            let pair = encoded.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_ECDSA_SIG(nil, &position, bytes.count)
            }
            guard let pair else { return nil }
            defer { ECDSA_SIG_free(pair) }
            var r = [UInt8](repeating: 0, count: half)
            var s = r
            guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, Int32(half)) == half,
                BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, Int32(half)) == half
            else { return nil }
            return r + s
        }
    }
#endif
