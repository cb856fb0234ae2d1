import Foundation
import StrictJSON
import Testing

@testable import JOSE

/// What a test needed and did not find.
struct Missing: Error { let what: String }

/// Published examples, and the project's own cases.
enum Vectors {
    /// One of the files in `Vectors/`.
    static func load(_ name: String) throws -> JSONObject {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: nil, subdirectory: "Vectors"))
        return try object(of: file)
    }

    /// One of the files that are other people's and stay outside the repository; nil when they are not there.
    static func shared(_ path: String) -> URL? {
        let file = sharedFolder.appending(path: "vectors/jose").appending(path: path)
        return FileManager.default.fileExists(atPath: file.path) ? file : nil
    }

    static func object(of file: URL) throws -> JSONObject {
        guard let object = try JSONValue(parsing: Data(contentsOf: file)).object else { throw Missing(what: file.path) }
        return object
    }

    private static var sharedFolder: URL {
        if let path = ProcessInfo.processInfo.environment["DIRECTORY_SHARED"] { return URL(filePath: path) }
        return URL(filePath: #filePath).appending(path: "../../../../shared").standardizedFileURL
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
