import StrictJSON

extension JWS {
    /// The two JSON forms of RFC 7515 section 7.2.
    package enum JSONForm: Sendable {
        /// The form with a list of signatures.
        case general
        /// The form for one signature.
        case flattened
    }

    /// Creates a JWS by signing content.
    ///
    /// The protected header begins with `alg`, followed by `kid`, if the key has one and neither header does, and by
    /// the given members.
    ///
    /// - Throws: ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` if the key cannot sign with the algorithm;
    ///   ``JOSEError/header(_:)`` for a duplicate member, or for one of `alg`, `crit` and `b64`.
    package init(
        signing payload: some Collection<UInt8>, with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = [:],
        unprotectedHeader: JSONObject = [:]
    ) throws(JOSEError) {
        let payload = Array(payload)
        let text = Array(Base64URL.encode(payload).utf8)
        let signature = try Signature(text, key, algorithm, header, unprotectedHeader)
        self.init(payload: payload, payloadText: text, signatures: [signature])
    }

    /// Returns the same content with an additional signature. Only the general JSON form supports several signatures.
    ///
    /// - Throws: The errors of ``init(signing:with:algorithm:header:unprotectedHeader:)``; ``JOSEError/malformed(_:)``
    ///   if there are already 16 signatures.
    package func signed(
        with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = [:], unprotectedHeader: JSONObject = [:]
    ) throws(JOSEError) -> JWS {
        guard signatures.count < Self.maximumSignatureCount else {
            throw .malformed("it has \(Self.maximumSignatureCount) signatures already")
        }
        let signature = try Signature(payloadText, key, algorithm, header, unprotectedHeader)
        return JWS(payload: unverifiedPayload, payloadText: payloadText, signatures: signatures + [signature])
    }

    /// Returns the compact form.
    ///
    /// Returns `nil` if there are several signatures or unprotected members, which it does not support.
    ///
    /// - Parameter isDetached: Whether to omit the content (RFC 7515 appendix F). The default is `false`.
    package func compact(isDetached: Bool = false) -> String? {
        guard signatures.count == 1, let signature = signatures.first, signature.unprotectedHeader.members.isEmpty,
            !signature.protectedText.isEmpty
        else { return nil }
        return String(
            decoding: Self.signingInput(signature.protectedText, isDetached ? [] : payloadText), as: UTF8.self)
            + "." + Base64URL.encode(signature.bytes)
    }

    /// Returns the JSON form, or `nil` if the flattened form is requested for several signatures.
    ///
    /// - Parameters:
    ///   - form: The general or the flattened form.
    ///   - isDetached: Whether to omit the content (RFC 7515 appendix F). The default is `false`.
    package func json(_ form: JSONForm = .general, isDetached: Bool = false) -> JSONObject? {
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
