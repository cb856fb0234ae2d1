import StrictJSON

extension JWS {
    /// Creates a JWS from the compact form: three base64url parts, separated by dots.
    ///
    /// - Parameters:
    ///   - text: The JWS, at most ``maximumByteCount`` bytes.
    ///   - detachedPayload: The content if it is detached (RFC 7515 appendix F); the middle part is then empty.
    /// - Throws: ``JOSEError/malformed(_:)`` or ``JOSEError/header(_:)``.
    package init(compact text: String, detachedPayload: [UInt8]? = nil) throws(JOSEError) {
        guard text.utf8.count <= Self.maximumByteCount else { throw .malformed("it is too long") }
        let bytes = Array(text.utf8)
        guard let first = bytes.firstIndex(of: dot), let second = bytes[(first + 1)...].firstIndex(of: dot),
            !bytes[(second + 1)...].contains(dot)
        else { throw .malformed("the compact form has three parts, separated by dots") }
        guard first > 0 else { throw .malformed("the first part, the header, is empty") }
        let (payload, payloadText) = try Self.payload(bytes[(first + 1)..<second], detachedPayload)
        let signature = try Signature(protected: bytes[..<first], unprotected: nil, signature: bytes[(second + 1)...])
        self.init(payload: payload, payloadText: payloadText, signatures: [signature])
    }

    /// Creates a JWS from the general or the flattened JSON form.
    ///
    /// - Parameters:
    ///   - object: The JWS. Unknown members are ignored.
    ///   - detachedPayload: The content if it is detached; the object then has no `payload` (RFC 7515 appendix F).
    /// - Throws: ``JOSEError/malformed(_:)`` or ``JOSEError/header(_:)``.
    package init(json object: JSONObject, detachedPayload: [UInt8]? = nil) throws(JOSEError) {
        guard object.duplicatedNames.isEmpty else { throw .malformed("duplicate member") }
        guard let text = try object.text("payload") ?? (detachedPayload == nil ? nil : "") else {
            throw .malformed("payload is missing")
        }
        let (payload, payloadText) = try Self.payload(Array(text.utf8)[...], detachedPayload)
        let signatures: [Signature]
        if let elements = object["signatures"] {
            guard let elements = elements.array, (1...Self.maximumSignatureCount).contains(elements.count) else {
                throw .malformed("signatures must be an array of 1 to \(Self.maximumSignatureCount) objects")
            }
            for name in ["signature", "protected", "header"] where object[name] != nil {
                throw .malformed("signatures and \(name) cannot be combined")
            }
            var read: [Signature] = []
            for element in elements {
                guard let element = element.object else {
                    throw .malformed("an element of signatures is not an object")
                }
                read.append(try Signature(element))
            }
            signatures = read
        } else {
            signatures = [try Signature(object)]
        }
        self.init(payload: payload, payloadText: payloadText, signatures: signatures)
    }

    /// Creates a JWS from the JSON form, at most ``maximumByteCount`` bytes.
    ///
    /// - Throws: ``JOSEError/malformed(_:)`` or ``JOSEError/header(_:)``.
    package init(parsingJSON bytes: some Collection<UInt8>, detachedPayload: [UInt8]? = nil) throws(JOSEError) {
        guard bytes.count <= Self.maximumByteCount,
            let value = try? JSONValue(parsing: bytes, options: .init(rejectsDuplicates: true)),
            let object = value.object
        else { throw .malformed("it is too long, not a JSON object, or has a member twice") }
        try self.init(json: object, detachedPayload: detachedPayload)
    }

    private static func payload(
        _ text: ArraySlice<UInt8>, _ detached: [UInt8]?
    ) throws(JOSEError) -> (payload: [UInt8], text: [UInt8]) {
        if let detached {
            guard text.isEmpty else { throw .malformed("it has a content, and a detached one was given as well") }
            return (detached, Array(Base64URL.encode(detached).utf8))
        }
        guard let payload = Base64URL.decode(text) else {
            throw .malformed("the content is not base64url without padding")
        }
        return (payload, Array(text))
    }
}

extension JWS.Signature {
    /// Creates a signature from the JSON form.
    fileprivate init(_ object: JSONObject) throws(JOSEError) {
        guard object.duplicatedNames.isEmpty else { throw .malformed("duplicate member") }
        guard let signature = try object.text("signature") else { throw .malformed("signature is missing") }
        let unprotected = object["header"]
        guard unprotected == nil || unprotected?.object != nil else { throw .header("header is not an object") }
        try self.init(
            protected: try object.text("protected").map { Array($0.utf8)[...] }, unprotected: unprotected?.object,
            signature: Array(signature.utf8)[...])
    }

    fileprivate init(
        protected: ArraySlice<UInt8>?, unprotected: JSONObject?, signature: ArraySlice<UInt8>
    ) throws(JOSEError) {
        guard let bytes = Base64URL.decode(signature) else {
            throw .malformed("the signature is not base64url without padding")
        }
        self.bytes = bytes
        unprotectedHeader = unprotected ?? JSONObject()
        if let protected, !protected.isEmpty {
            guard let header = Base64URL.decode(protected) else {
                throw .malformed("the header is not base64url without padding")
            }
            guard let object = strictObject(header) else {
                throw .header("it is not a JSON object in UTF-8 with each member once")
            }
            protectedHeader = object
            protectedText = Array(protected)
        } else {
            protectedHeader = JSONObject()
            protectedText = []
        }
        try check()
    }

    /// Checks RFC 7515 sections 4 and 7.2.1: names are unique across both headers, and certain members are strings.
    private func check() throws(JOSEError) {
        if !unprotectedHeader.members.isEmpty, !header.duplicatedNames.isEmpty {
            throw .header("duplicate member")
        }
        for name in ["alg", "kid", "typ", "cty"] {
            if let value = self[name], value.string == nil { throw .header("\(name) is \(value.kind), not a string") }
        }
        guard unprotectedHeader["crit"] == nil else { throw .header("crit is outside the protected header") }
    }
}

extension JSONObject {
    /// Returns the string with this name, or `nil` if it is absent.
    fileprivate func text(_ name: String) throws(JOSEError) -> String? {
        guard let value = self[name] else { return nil }
        guard let string = value.string else { throw .malformed("\(name) is \(value.kind), not a string") }
        return string
    }
}

private let dot = UInt8(ascii: ".")

/// Returns the JSON object encoded by these bytes.
///
/// Returns `nil` if they are not UTF-8 JSON, have a byte order mark, or a duplicate member at any depth.
func strictObject(_ bytes: [UInt8]) -> JSONObject? {
    guard bytes.first == UInt8(ascii: "{") || bytes.first.map({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) == true,
        case .object(let object)? = try? JSONValue(parsing: bytes, options: .init(maximumDepth: 32)),
        !hasDuplicates(.object(object))
    else { return nil }
    return object
}

/// Returns whether this value contains a duplicate member at any depth.
private func hasDuplicates(_ value: JSONValue) -> Bool {
    switch value {
    case .object(let object): !object.duplicatedNames.isEmpty || object.members.contains { hasDuplicates($0.value) }
    case .array(let elements): elements.contains { hasDuplicates($0) }
    default: false
    }
}
