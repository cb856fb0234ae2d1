public import StrictJSON

extension JWS {
    /// The two JSON forms of RFC 7515 section 7.2.
    public enum JSONForm: Sendable {
        /// With a list of signatures.
        case general
        /// For one signature.
        case flattened
    }

    /// Signs a content.
    ///
    /// The protected header begins with `alg`; then come `kid`, if the key has one and neither header does, and the
    /// members given.
    ///
    /// - Throws: ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` when the key may not sign with the algorithm;
    ///   ``JOSEError/header(_:)`` for a member given twice, or one of `alg`, `crit` and `b64`.
    public init(
        signing payload: some Collection<UInt8>, with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) throws(JOSEError) {
        let payload = Array(payload)
        let text = Array(Base64URL.encode(payload).utf8)
        let signature = try Signature(text, key, algorithm, header, unprotectedHeader)
        self.init(payload: payload, payloadText: text, signatures: [signature])
    }

    /// The same content with one more signature. Only the general JSON form can hold it.
    ///
    /// - Throws: As ``init(signing:with:algorithm:header:unprotectedHeader:)``; ``JOSEError/malformed(_:)`` when there are
    ///   16 signatures already.
    public func signed(
        with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = [:], unprotectedHeader: JSONObject = [:]
    ) throws(JOSEError) -> JWS {
        guard signatures.count < Self.maximumSignatureCount else {
            throw .malformed("it has \(Self.maximumSignatureCount) signatures already")
        }
        let signature = try Signature(payloadText, key, algorithm, header, unprotectedHeader)
        return JWS(payload: unverifiedPayload, payloadText: payloadText, signatures: signatures + [signature])
    }

    /// The compact form; nil when there are several signatures or unprotected members, which it cannot hold.
    ///
    /// - Parameter isDetached: Leaves the content out (RFC 7515 appendix F).
    public func compact(isDetached: Bool = false) -> String? {
        guard signatures.count == 1, let signature = signatures.first, signature.unprotectedHeader.members.isEmpty,
            !signature.protectedText.isEmpty
        else { return nil }
        return String(
            decoding: Self.signingInput(signature.protectedText, isDetached ? [] : payloadText), as: UTF8.self)
            + "." + Base64URL.encode(signature.bytes)
    }

    /// The JSON form; nil for the flattened form of several signatures.
    ///
    /// - Parameters:
    ///   - form: General or flattened.
    ///   - isDetached: Leaves the content out (RFC 7515 appendix F).
    public func json(_ form: JSONForm = .general, isDetached: Bool = false) -> JSONObject? {
        var object = JSONObject()
        if !isDetached { object.append("payload", .string(String(decoding: payloadText, as: UTF8.self))) }
        switch form {
        case .general:
            object.append("signatures", .array(signatures.map { .object(JSONObject($0.members)) }))
        case .flattened:
            guard signatures.count == 1, let signature = signatures.first else { return nil }
            object = JSONObject(object.members + signature.members)
        }
        return object
    }
}

extension JWS.Signature {
    fileprivate init(
        _ payloadText: [UInt8], _ key: JWK, _ algorithm: JWSAlgorithm, _ header: JSONObject,
        _ unprotectedHeader: JSONObject
    ) throws(JOSEError) {
        for name in ["alg", "crit", "b64"] where header[name] != nil || unprotectedHeader[name] != nil {
            throw .header("\(name) is not the caller's to set")
        }
        var protectedHeader: JSONObject = ["alg": .string(algorithm.rawValue)]
        if let keyID = key.keyID, header["kid"] == nil, unprotectedHeader["kid"] == nil {
            protectedHeader.append("kid", .string(keyID))
        }
        protectedHeader = JSONObject(protectedHeader.members + header.members)
        guard JSONObject(protectedHeader.members + unprotectedHeader.members).duplicatedNames.isEmpty else {
            throw .header("duplicate member")
        }
        let protectedText = Array(Base64URL.encode(JSONValue.object(protectedHeader).serialized()).utf8)
        self.init(
            protectedHeader: protectedHeader, unprotectedHeader: unprotectedHeader,
            bytes: try key.signature(of: JWS.signingInput(protectedText, payloadText), using: algorithm),
            protectedText: protectedText)
    }

    fileprivate var members: [JSONObject.Member] {
        var members: [JSONObject.Member] = []
        if !protectedText.isEmpty {
            members.append(.init(name: "protected", value: .string(String(decoding: protectedText, as: UTF8.self))))
        }
        if !unprotectedHeader.members.isEmpty {
            members.append(.init(name: "header", value: .object(unprotectedHeader)))
        }
        members.append(.init(name: "signature", value: .string(Base64URL.encode(bytes))))
        return members
    }
}
