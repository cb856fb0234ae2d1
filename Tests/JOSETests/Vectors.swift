import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import JOSE

/// A missing member or file of a test.
struct Missing: Error { let what: String }

/// The published examples and the project's own cases.
enum Vectors {
    /// Returns a vector file of the project.
    static func load(_ name: String) throws -> JSONObject {
        try VectorFile.object(name)
    }

    /// Returns a file of the folder of published suites, or `nil` if it does not exist.
    static func shared(_ path: String) -> URL? {
        SharedFolder.url("vectors/jose/\(path)")
    }

    static func object(of file: URL) throws -> JSONObject {
        guard let object = try JSONValue(parsing: Data(contentsOf: file)).object else { throw Missing(what: file.path) }
        return object
    }
}

/// The cryptographic library of this build.
enum Backend {
    static let isCryptoKit = Crypto.name == "CryptoKit"
}

extension JSONObject {
    func object(_ name: String) throws -> JSONObject {
        guard let value = self[name]?.object else { throw Missing(what: name) }
        return value
    }
    func string(_ name: String) throws -> String {
        guard let value = self[name]?.string else { throw Missing(what: name) }
        return value
    }
    func objects(_ name: String) throws -> [JSONObject] {
        guard let value = self[name]?.array else { throw Missing(what: name) }
        return value.compactMap(\.object)
    }
    func with(_ name: String, _ value: JSONValue?) -> JSONObject {
        var copy = self
        copy[name] = value
        return copy
    }
}

extension String {
    var bytes: [UInt8] { Array(utf8) }

    /// The bytes that the hexadecimal digits encode.
    var hexadecimal: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }
}
