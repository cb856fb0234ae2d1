import Foundation
import StrictJSON
import Testing

/// A certificate of the folder `Certificates`, whose script creates them.
package enum SampleCertificate {
    /// The password of the encrypted files.
    package static let password = "open sesame"

    /// Returns the path of a file, such as `app.pem`.
    package static func path(_ name: String) throws -> String {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: nil, subdirectory: "Certificates"))
        return file.path(percentEncoded: false)
    }

    package static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: try path(name))))
    }

    /// Returns a thumbprint that openssl computed, in upper-case hexadecimal digits.
    ///
    /// - Parameter digest: `sha1` or `sha256`.
    package static func thumbprint(_ name: String, _ digest: String) throws -> String {
        let thumbprints = try #require(try JSONValue(parsing: bytes("thumbprints.json")).object)
        return try #require(thumbprints[name]?.object?[digest]?.string)
    }
}
