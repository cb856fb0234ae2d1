import Foundation
import StrictJSON
import TestSupport
import Testing

private let suite = SharedFolder.url("suites/json")

/// Tests the JSON parsers with the files of nst/JSONTestSuite.
@Suite(.enabled(if: suite != nil, "the folder with the published suites does not exist"))
struct JSONSuiteTests {
    private func files(_ folder: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = try #require(suite).appending(path: folder)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, [UInt8](try Data(contentsOf: folder.appending(path: name))))
        }
    }

    /// The files that a parser may accept or reject, and that these parsers accept.
    ///
    /// The parsers keep the digits of numbers, which have no maximum, and skip a byte order mark.
    private static let accepted: Set<String> = [
        "i_number_double_huge_neg_exp.json", "i_number_huge_exp.json", "i_number_neg_int_huge_exp.json",
        "i_number_pos_double_huge_exp.json", "i_number_real_neg_overflow.json", "i_number_real_pos_overflow.json",
        "i_number_real_underflow.json", "i_number_too_big_neg_int.json", "i_number_too_big_pos_int.json",
        "i_number_very_big_negative_int.json", "i_structure_UTF-8_BOM_empty_object.json",
    ]

    @Test func `the parsers accept or reject each file as its name requires`() throws {
        let files = try files("test_parsing")
        #expect(files.count == 318)
        for (name, bytes) in files {
            let value = try? JSONValue(parsing: bytes)
            switch name.first {
            case "y": #expect(value != nil, "\(name)")
            case "n": #expect(value == nil, "\(name)")
            default: #expect((value != nil) == Self.accepted.contains(name), "\(name)")
            }
            // The other parsers accept the same texts. `JSONListText` requires an object.
            let slice = try? JSONSlice(parsing: bytes)
            #expect((slice != nil) == (value != nil), "\(name)")
            #expect(slice?.value == value, "\(name)")
            let list = Result { () throws(JSONError) in try JSONListText(parsing: bytes, list: "value") }
            #expect(((try? list.get()) != nil) == (value?.object != nil), "\(name)")
            guard let value else { continue }
            #expect(try JSONValue(parsing: value.serialized()) == value, "\(name)")
            #expect(try JSONValue(parsing: value.serialized(.indented)) == value, "\(name)")
            if value.object != nil {
                #expect(throws: Never.self, "\(name)") { try JSONObjectLayout(bytes) }
            }
        }
    }

    /// The expected value of each file that some parsers change. `nil` if `JSONValue` rejects the file.
    private static let values: [String: JSONValue?] = [
        "number_-9223372036854775808.json": "[-9223372036854775808]",
        "number_-9223372036854775809.json": "[-9223372036854775809]", "number_1.0.json": "[1.0]",
        "number_1.000000000000000005.json": "[1.000000000000000005]",
        "number_1000000000000000.json": "[1000000000000000]",
        "number_10000000000000000999.json": "[10000000000000000999]", "number_1e-999.json": "[1E-999]",
        "number_1e6.json": "[1E6]", "number_9223372036854775807.json": "[9223372036854775807]",
        "number_9223372036854775808.json": "[9223372036854775808]",
        // `JSONValue` compares names byte by byte, and keeps duplicates.
        "object_key_nfc_nfd.json": "{\"\u{E9}\":\"NFC\",\"e\u{301}\":\"NFD\"}",
        "object_key_nfd_nfc.json": "{\"e\u{301}\":\"NFD\",\"\u{E9}\":\"NFC\"}",
        "object_same_key_different_values.json": #"{"a":1,"a":2}"#,
        "object_same_key_same_value.json": #"{"a":1,"a":1}"#,
        "object_same_key_unclear_values.json": #"{"a":0, "a":-0}"#,
        // `JSONValue` rejects unpaired surrogates and invalid UTF-8.
        "string_1_escaped_invalid_codepoint.json": nil, "string_1_invalid_codepoint.json": nil,
        "string_2_escaped_invalid_codepoints.json": nil, "string_2_invalid_codepoints.json": nil,
        "string_3_escaped_invalid_codepoints.json": nil, "string_3_invalid_codepoints.json": nil,
        "string_with_escaped_NULL.json": #"["A\u0000B"]"#,
    ].mapValues { text in text.flatMap { try? JSONValue(parsing: $0) } }

    @Test func `parsing keeps the digits, names and duplicates that some parsers change`() throws {
        let files = try files("test_transform")
        #expect(files.count == 22 && Set(files.map(\.name)) == Set(Self.values.keys))
        for (name, bytes) in files {
            let value = try? JSONValue(parsing: bytes)
            let expected = try #require(Self.values[name], "\(name)")
            #expect(value == expected, "\(name)")
            if name.hasPrefix("object_same") {
                #expect(value?.object?.duplicatedNames == ["a"], "\(name)")
                #expect(throws: JSONError.self, "\(name)") {
                    try JSONValue(parsing: bytes, options: .init(rejectsDuplicates: true))
                }
            }
        }
    }
}
