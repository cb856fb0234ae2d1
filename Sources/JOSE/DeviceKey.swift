import LodgePlatform

/// A private RSA key that never leaves its device: a TPM or a PKCS #11 token.
package struct DeviceKey: Sendable, Equatable {
    /// A kind of device.
    package enum Device: String, Sendable, CaseIterable {
        /// A TPM 2.0. The URI has the handle of a persistent key, such as `handle:0x81000001`.
        case tpm = "handle"
        /// A PKCS #11 token, such as a smart card or an HSM, with a URI of RFC 7512.
        case token = "pkcs11"

        /// The name in messages.
        package var name: String {
            switch self {
            case .tpm: "TPM"
            case .token: "PKCS #11 token"
            }
        }
    }

    /// The device.
    package let device: Device
    /// The URI of the key. It never has a password.
    package let uri: String
    /// The password or PIN of the key.
    package var password: Secret?

    private static let maximumByteCount = 1024

    /// Creates the key of a URI. Returns `nil` if the string is not a URI of a device, such as the path of a file.
    ///
    /// - Throws: ``CertificateError`` if the URI is malformed or has a password.
    package init?(_ text: String, password: Secret? = nil) throws(CertificateError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let device = Device(rawValue: text[..<colon].lowercased())
        else { return nil }
        let rest = text[text.utf8.index(after: colon)...]
        guard rest.utf8.count <= Self.maximumByteCount else {
            throw CertificateError(.key, "a URI of more than \(Self.maximumByteCount) bytes")
        }
        // The error of a query must not show a password.
        if let query = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
            try Self.refuse(query: rest[rest.utf8.index(after: query)...])
        }
        switch device {
        case .tpm: try Self.checkHandle(rest)
        case .token: try Self.checkAttributes(rest)
        }
        self.device = device
        self.uri = "\(device.rawValue):\(device == .tpm ? rest.lowercased() : String(rest))"
        self.password = password
    }

    private static func refuse(query: Substring) throws(CertificateError) {
        let name = query.prefix { $0 != "=" && $0 != "&" }
        guard !["pin-value", "pin-source", "pass"].contains(name) else {
            throw CertificateError(.password, "a URI with \(name)", hint: "remove it, and set password in place of it")
        }
        throw CertificateError(
            .key, "a URI with a query", hint: "remove the part that begins with ?")
    }

    private static func checkHandle(_ text: Substring) throws(CertificateError) {
        let digits = text.lowercased().hasPrefix("0x") ? text.dropFirst(2) : text
        guard digits.utf8.count == 8, digits.utf8.allSatisfy(isHexadecimal), digits.hasPrefix("81") else {
            throw CertificateError(
                .key, "a handle that is not of a persistent key",
                hint: "use a handle of 0x81000000 to 0x81FFFFFF, such as handle:0x81000001")
        }
    }

    /// The attributes of RFC 7512 section 2.3 that identify an object and its token.
    private static let attributes: Set<Substring> = [
        "token", "manufacturer", "serial", "model", "library-manufacturer", "library-version", "library-description",
        "object", "type", "id", "slot-description", "slot-manufacturer", "slot-id",
    ]

    private static func checkAttributes(_ text: Substring) throws(CertificateError) {
        var names: Set<Substring> = []
        for attribute in text.split(separator: ";", omittingEmptySubsequences: false) {
            let parts = attribute.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, attributes.contains(parts[0]) else {
                throw CertificateError(
                    .key, "a PKCS #11 URI with an attribute that RFC 7512 does not have",
                    hint: "use a URI such as pkcs11:token=work;object=app;type=private")
            }
            guard names.insert(parts[0]).inserted, isEncoded(parts[1]) else {
                throw CertificateError(
                    .key, "a PKCS #11 URI with a duplicate or malformed attribute",
                    hint: "write each attribute once, and other characters than letters and digits as %20")
            }
            guard parts[0] != "type" || parts[1] == "private" else {
                throw CertificateError(.key, "the URI of an object that is not a private key", hint: "use type=private")
            }
        }
        guard names.contains("object") || names.contains("id") else {
            throw CertificateError(
                .key, "a PKCS #11 URI without object and id", hint: "add the label or the identifier of the key")
        }
    }

    /// Returns whether a value has only the characters of RFC 7512 section 2.3 and percent-encoded bytes.
    private static func isEncoded(_ text: Substring) -> Bool {
        var bytes = text.utf8[...]
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard bytes.count >= 2, bytes.prefix(2).allSatisfy(isHexadecimal) else { return false }
                bytes = bytes.dropFirst(2)
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                continue
            default: guard "-._~:[]@!$'()*+,&/".utf8.contains(byte) else { return false }
            }
        }
        return !text.isEmpty
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}

extension DeviceKey: Redacted {
    /// The location of the key, such as `handle:0x81000001 in the TPM`.
    package var description: String { "\(uri) in the \(device.name)" }
}
