internal import CCurl

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The system's trusted certificates and those of one more file, as one PEM text.
///
/// libcurl takes either a file or a text and each replaces the system's file, so both are joined here. Where the
/// system also keeps certificates in a folder, libcurl goes on using that.
struct TrustedCertificates: Sendable {
    /// The PEM text.
    let bytes: [UInt8]

    private static let maximumFileSize = 16 << 20

    /// Reads the file and the system's certificates.
    ///
    /// - Throws: ``HTTPTransportError`` of the kind `invalidRequest` for a file that cannot be read or holds no
    ///   certificate.
    init(addingFile path: String) throws(HTTPTransportError) {
        guard let content = FileManager.default.contents(atPath: path) else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The file of trusted certificates \(path) cannot be read; check its path and permissions.")
        }
        guard content.count <= Self.maximumFileSize, let count = Self.certificateCount([UInt8](content)), count > 0
        else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The file of trusted certificates \(path) is not PEM: it must hold blocks that begin with"
                    + " -----BEGIN CERTIFICATE-----. Convert a DER file with openssl x509 -inform DER.")
        }
        var joined = [UInt8](content)
        joined.append(UInt8(ascii: "\n"))
        if let system = ccurl_system_certificates().map({ String(cString: $0) }),
            let content = FileManager.default.contents(atPath: system)
        {
            joined.append(contentsOf: content)
        }
        bytes = joined
    }

    /// The number of certificates in a PEM text, or nil where a block is broken.
    static func certificateCount(_ text: [UInt8]) -> Int? {
        var count = 0
        var base64: [UInt8]?
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if line.starts(with: "-----BEGIN ".utf8) {
                guard base64 == nil else { return nil }
                base64 = []
            } else if line.starts(with: "-----END ".utf8) {
                // A certificate is a DER sequence: it begins with 0x30.
                guard let block = base64, let der = Data(base64Encoded: Data(block)), der.first == 0x30 else {
                    return nil
                }
                if line.starts(with: "-----END CERTIFICATE-----".utf8)
                    || line.starts(with: "-----END TRUSTED CERTIFICATE-----".utf8)
                {
                    count += 1
                }
                base64 = nil
            } else {
                base64?.append(contentsOf: line.filter { $0 != 0x20 && $0 != 0x09 })
            }
        }
        return base64 == nil ? count : nil
    }
}
