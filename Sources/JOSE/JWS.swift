public import Platform
public import StrictJSON

/// A signed content: its bytes, and one or more signatures. Nothing of it is to be believed before `verified(with:algorithms:)`.
///
/// No extension is supported: a header with `crit`, or with `b64` other than true, is never verified. The header members
/// `jwk`, `jku`, `x5c` and `x5u` are not looked at.
///
/// [RFC 7515](https://www.rfc-editor.org/rfc/rfc7515)
public struct JWS: Sendable {
    /// One signature and its header.
    public struct Signature: Sendable {
        /// The members that are signed.
        public let protectedHeader: JSONObject
        /// The members that are not signed. Always empty in the compact form.
        public let unprotectedHeader: JSONObject
        /// The signature, in the form of RFC 7518 section 3.
        public let bytes: [UInt8]
        /// The protected header as it stands in the text.
        let protectedText: [UInt8]

        /// Both headers together. No member is in both.
        public var header: JSONObject { JSONObject(protectedHeader.members + unprotectedHeader.members) }

        /// A member of either header.
        public subscript(name: String) -> JSONValue? { protectedHeader[name] ?? unprotectedHeader[name] }

        /// The name of the algorithm, `alg`. May be one that is not supported, and may be `none`.
        public var algorithmName: String? { self["alg"]?.string }
        /// The name of the key, `kid`.
        public var keyID: String? { self["kid"]?.string }
    }

    /// What a verified signature covers, and with what it was verified.
    public struct Verified: Sendable {
        /// The content.
        public let payload: [UInt8]
        /// The signature's header. Members outside its protected header are not covered by the signature.
        public let signature: Signature
        /// The algorithm of the signature.
        public let algorithm: JWSAlgorithm
        /// The key of the signature.
        public let key: JWK
    }

    /// The most bytes that are read as a JWS.
    public static let maximumByteCount = 16 << 20
    /// The most signatures that one JWS may have.
    public static let maximumSignatureCount = 16

    /// The content, before any signature was verified.
    public let unverifiedPayload: [UInt8]
    /// The signatures, at least one.
    public let signatures: [Signature]
    /// The content in base64url, as it is signed.
    let payloadText: [UInt8]

    init(payload: [UInt8], payloadText: [UInt8], signatures: [Signature]) {
        unverifiedPayload = payload
        self.payloadText = payloadText
        self.signatures = signatures
    }
}

// MARK: - Verifying

extension JWS {
    /// The content, if one of the signatures is made with one of these algorithms and one of these keys.
    ///
    /// Keys are chosen by `kid`; without a `kid`, every key of the right type, use and algorithm is tried, up to 64.
    ///
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/keyNotFound``,
    ///   ``JOSEError/signature``, or ``JOSEError/header(_:)``. With several signatures: `signature` if one was tried.
    public func verified(with keys: JWKSet, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        try firstVerified { signature throws(JOSEError) in
            let algorithm = try signature.algorithm(among: algorithms)
            let candidates = keys.candidates(for: algorithm, keyID: signature.keyID)
            guard !candidates.isEmpty else { throw .keyNotFound }
            for key in candidates where try isValid(signature, key, algorithm) { return (algorithm, key) }
            throw .signature
        }
    }

    /// The content, if one of the signatures is made with one of these algorithms and this key, whatever its `kid` says.
    ///
    /// - Throws: As with a set, and ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` when the key may not verify.
    public func verified(with key: JWK, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        try firstVerified { signature throws(JOSEError) in
            let algorithm = try signature.algorithm(among: algorithms)
            guard try isValid(signature, key, algorithm) else { throw .signature }
            return (algorithm, key)
        }
    }

    private func firstVerified(
        _ verify: (Signature) throws(JOSEError) -> (JWSAlgorithm, JWK)
    ) throws(JOSEError) -> Verified {
        var reason: JOSEError?
        for signature in signatures {
            do throws(JOSEError) {
                let (algorithm, key) = try verify(signature)
                return Verified(payload: unverifiedPayload, signature: signature, algorithm: algorithm, key: key)
            } catch {
                if reason == nil || error == .signature { reason = error }
            }
        }
        throw reason ?? .malformed("it has no signature")
    }

    private func isValid(_ signature: Signature, _ key: JWK, _ algorithm: JWSAlgorithm) throws(JOSEError) -> Bool {
        try key.isSignature(
            signature.bytes, of: Self.signingInput(signature.protectedText, payloadText), using: algorithm)
    }

    /// What is signed: the protected header and the content as they stand in the text (RFC 7515 section 5.1).
    static func signingInput(_ protectedText: [UInt8], _ payloadText: [UInt8]) -> [UInt8] {
        var input: [UInt8] = []
        input.reserveCapacity(protectedText.count + 1 + payloadText.count)
        input += protectedText
        input.append(UInt8(ascii: "."))
        input += payloadText
        return input
    }
}

extension JWS.Signature {
    /// The algorithm, if it is allowed and the header asks for nothing that is not understood.
    func algorithm(among allowed: Set<JWSAlgorithm>) throws(JOSEError) -> JWSAlgorithm {
        // The name may be anything, so that only names that are known are repeated in the error.
        guard let name = algorithmName else { throw .algorithmNotAllowed("no algorithm") }
        guard let algorithm = JWSAlgorithm(name: name) else {
            throw .algorithmNotAllowed(name.lowercased() == "none" ? "none" : "an algorithm that is not supported")
        }
        guard allowed.contains(algorithm) else { throw .algorithmNotAllowed(algorithm.rawValue) }
        guard self["crit"] == nil else { throw .criticalUnsupported }
        // RFC 7797 section 6: b64 must be listed in crit. Without it, two readers could see different contents.
        if let encoding = self["b64"], encoding != true { throw .header("b64 is not true and not critical") }
        return algorithm
    }
}

extension JWS.Signature: Redacted {
    /// The algorithm if it is a known one, and no part of the token.
    public var description: String {
        "JWS.Signature(\(algorithmName.flatMap(JWSAlgorithm.init(name:))?.rawValue ?? "unknown algorithm"))"
    }
}

extension JWS: Redacted {
    /// The number of signatures, and no part of the token.
    public var description: String { "JWS(\(signatures.count) signatures)" }
}

extension JWS.Verified: Redacted {
    /// The algorithm, and no part of the token.
    public var description: String { "JWS.Verified(\(algorithm))" }
}
