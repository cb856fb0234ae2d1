import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import JOSE

/// What a test needed and did not find.
struct Missing: Error { let what: String }

/// Published examples, and the project's own cases.
enum Vectors {
    /// One of the published files.
    static func load(_ name: String) throws -> JSONObject {
        try VectorFile.object(name)
    }

    /// One of the files that are other people's and stay outside the repository; nil when they are not there.
    static func shared(_ path: String) -> URL? {
        SharedFolder.url("vectors/jose/\(path)")
    }

    static func object(of file: URL) throws -> JSONObject {
        guard let object = try JSONValue(parsing: Data(contentsOf: file)).object else { throw Missing(what: file.path) }
        return object
    }
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

    /// The bytes of hexadecimal digits.
    var hexadecimal: [UInt8] {
        let digits = Array(utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
        }
    }
}
