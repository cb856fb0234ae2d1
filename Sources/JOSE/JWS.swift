import LodgePlatform
import StrictJSON

/// Signed content with one or more signatures. Do not trust any part of it before `verified(with:algorithms:)`.
///
/// Extensions are not supported: a header with `crit`, or with `b64` other than true, is never verified. The header
/// members `jwk`, `jku`, `x5c` and `x5u` are ignored.
///
/// See [RFC 7515](https://www.rfc-editor.org/rfc/rfc7515).
package struct JWS: Sendable {
    /// A signature and its header.
    package struct Signature: Sendable {
        /// The signed header members.
        package let protectedHeader: JSONObject
        /// The unsigned header members. Always empty in the compact form.
        package let unprotectedHeader: JSONObject
        /// The signature, in the form of RFC 7518 section 3.
        package let bytes: [UInt8]
        /// The encoded protected header.
        let protectedText: [UInt8]

        /// Both headers combined. They have no common member.
        package var header: JSONObject { JSONObject(protectedHeader.members + unprotectedHeader.members) }

        /// The member with this name in either header.
        package subscript(name: String) -> JSONValue? { protectedHeader[name] ?? unprotectedHeader[name] }

        /// The name of the algorithm, `alg`. It may be unsupported or `none`.
        package var algorithmName: String? { self["alg"]?.string }
        /// The key ID, `kid`.
        package var keyID: String? { self["kid"]?.string }
    }

    /// The verified content with its algorithm and key.
    package struct Verified: Sendable {
        /// The content.
        package let payload: [UInt8]
        /// The signature and its header. The signature does not cover members outside the protected header.
        package let signature: Signature
        /// The algorithm of the signature.
        package let algorithm: JWSAlgorithm
        /// The key of the signature.
        package let key: JWK
    }

    /// The maximum size of a JWS in bytes.
    package static let maximumByteCount = 16 << 20
    /// The maximum number of signatures in a JWS.
    package static let maximumSignatureCount = 16

    /// The content before verification.
    package let unverifiedPayload: [UInt8]
    /// The signatures, at least one.
    package let signatures: [Signature]
    /// The content in base64url, as signed.
    let payloadText: [UInt8]

    init(payload: [UInt8], payloadText: [UInt8], signatures: [Signature]) {
        unverifiedPayload = payload
        self.payloadText = payloadText
        self.signatures = signatures
    }
}

// MARK: - Verification

extension JWS {
    /// Returns the content if one of the signatures uses an allowed algorithm and is valid for one of the keys.
    ///
    /// The `kid` selects keys. Without a `kid`, up to 64 keys of the right type, use and algorithm are tried.
    ///
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/keyNotFound``,
    ///   ``JOSEError/signature``, or ``JOSEError/header(_:)``. With several signatures: `signature` if one was tried.
    package func verified(with keys: JWKSet, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        try firstVerified { signature throws(JOSEError) in
            let algorithm = try signature.algorithm(among: algorithms)
            let candidates = keys.candidates(for: algorithm, keyID: signature.keyID)
            guard !candidates.isEmpty else { throw .keyNotFound }
            for key in candidates where try isValid(signature, key, algorithm) { return (algorithm, key) }
            throw .signature
        }
    }

    /// Returns the content if one of the signatures uses an allowed algorithm and is valid for this key. Ignores `kid`.
    ///
    /// - Throws: The errors of verifying with a set, and ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` if the
    ///   key cannot verify.
    package func verified(with key: JWK, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
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

    /// Returns the signing input: the encoded protected header and content (RFC 7515 section 5.1).
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
    /// Returns the algorithm if it is allowed and the header requires no unsupported extension.
    func algorithm(among allowed: Set<JWSAlgorithm>) throws(JOSEError) -> JWSAlgorithm {
        // The name can contain anything, so the error repeats only known names.
        guard let name = algorithmName else { throw .algorithmNotAllowed("no algorithm") }
        guard let algorithm = JWSAlgorithm(name: name) else {
            throw .algorithmNotAllowed(name.lowercased() == "none" ? "none" : "an algorithm that is not supported")
        }
        guard allowed.contains(algorithm) else { throw .algorithmNotAllowed(algorithm.rawValue) }
        guard self["crit"] == nil else { throw .criticalUnsupported }
        // RFC 7797 section 6: b64 must be listed in crit. Otherwise two programs could read different contents.
        if let encoding = self["b64"], encoding != true { throw .header("b64 is not true and not critical") }
        return algorithm
    }
}

extension JWS.Signature: Redacted {
    /// The algorithm if it is known, without any part of the token.
    package var description: String {
        "JWS.Signature(\(algorithmName.flatMap(JWSAlgorithm.init(name:))?.rawValue ?? "unknown algorithm"))"
    }
}

extension JWS: Redacted {
    /// The number of signatures, without any part of the token.
    package var description: String { "JWS(\(signatures.count) signatures)" }
}

extension JWS.Verified: Redacted {
    /// The algorithm, without any part of the token.
    package var description: String { "JWS.Verified(\(algorithm))" }
}
