import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// The locations of the system's trusted certificates that libcurl was built to use.
struct SystemCertificates: Sendable {
    /// A PEM file with all certificates.
    var file = ccurl_system_certificate_file().map { String(cString: $0) }
    /// A folder with one file for each certificate, named by OpenSSL's hash.
    var folder = ccurl_system_certificate_folder().map { String(cString: $0) }
}

/// The certificates that a transport trusts: the system's and an additional file. Used only on the worker's thread.
///
/// OpenSSL needs about 20 ms to read the system's file for each connection, and almost no time for the folder.
/// Therefore the folder is tried first. Only if the server's certificate is not trusted by it, the connection is
/// repeated with the file, before any part of the request is sent.
///
/// libcurl accepts either a file or a buffer, each of which replaces the system's file, so both files are joined.
final class TrustedCertificates {
    /// The certificates to search.
    enum Extent {
        /// The system's folder and the added file.
        case folder
        /// The system's folder and file, and the added file.
        case everything
    }

    /// The extent for new connections.
    private(set) var extent: Extent
    private let system: SystemCertificates
    private let added: UnsafeMutableBufferPointer<UInt8>?
    private var joined: UnsafeMutableBufferPointer<UInt8>?

    private static let maximumFileSize = 16 << 20

    /// Creates the certificates and reads the additional file, if any.
    ///
    /// - Throws: ``HTTPTransportError`` of the kind `invalidRequest` for a file that is unreadable or contains no
    ///   certificate.
    init(addingFile path: String?, to system: SystemCertificates) throws(HTTPTransportError) {
        self.system = system
        added = try path.map { path throws(HTTPTransportError) in Self.copy(try Self.read(path)) }
        extent = system.folder.map { ccurl_has_hashed_certificates($0) != 0 } == true ? .folder : .everything
    }

    deinit {
        added?.deallocate()
        joined?.deallocate()
    }

    /// Uses all certificates from now on.
    func widen() { extent = .everything }

    /// Sets the options of a handle. The object must outlive the handle's use of it.
    func apply(_ extent: Extent, to handle: UnsafeMutableRawPointer) -> CURLcode {
        if let folder = system.folder {
            let code = ccurl_easy_set_string(handle, CURLOPT_CAPATH, folder)
            guard code == CURLE_OK else { return code }
        }
        if let added {
            let text = extent == .folder ? added : everything(with: added)
            return ccurl_easy_set_trusted_certificates(handle, text.baseAddress, text.count)
        }
        switch extent {
        case .folder: return ccurl_easy_set_string(handle, CURLOPT_CAINFO, nil)
        case .everything: return system.file.map { ccurl_easy_set_string(handle, CURLOPT_CAINFO, $0) } ?? CURLE_OK
        }
    }

    private func everything(with added: UnsafeMutableBufferPointer<UInt8>) -> UnsafeMutableBufferPointer<UInt8> {
        if let joined { return joined }
        var text = Array(added)
        text.append(UInt8(ascii: "\n"))
        if let file = system.file, let content = FileManager.default.contents(atPath: file) {
            text.append(contentsOf: content)
        }
        let copy = Self.copy(text)
        joined = copy
        return copy
    }

    private static func copy(_ bytes: [UInt8]) -> UnsafeMutableBufferPointer<UInt8> {
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        return copy
    }

    private static func read(_ path: String) throws(HTTPTransportError) -> [UInt8] {
        guard let content = FileManager.default.contents(atPath: path) else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The file of trusted certificates \(path) cannot be read; check its path and permissions.")
        }
        guard content.count <= maximumFileSize, let count = certificateCount([UInt8](content)), count > 0 else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The file of trusted certificates \(path) is not PEM: it must contain blocks that begin with"
                    + " -----BEGIN CERTIFICATE-----. Convert a DER file with openssl x509 -inform DER.")
        }
        return [UInt8](content)
    }

    /// Returns the number of certificates in a PEM file, or `nil` if a block is malformed.
    static func certificateCount(_ text: [UInt8]) -> Int? {
        var count = 0
        var base64: [UInt8]?
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            if line.starts(with: "-----BEGIN ".utf8) {
                guard base64 == nil else { return nil }
                base64 = []
            } else if line.starts(with: "-----END ".utf8) {
                // A certificate is a DER sequence, which begins with 0x30.
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
