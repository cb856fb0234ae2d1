import Foundation
import HTTPExchange
import StrictJSON
import Testing

/// A case of a vector file, merged with the file's defaults.
package struct VectorCase: Sendable, CustomTestStringConvertible {
    package let id: String
    package let title: String
    package let input: JSONObject
    package let expect: JSONObject
    package let alsoAcceptable: JSONObject?

    package var testDescription: String { "\(id) \(title)" }

    /// `expect.outcome`.
    package var outcome: String { expect["outcome"]?.string ?? "" }
    /// `expect.reason`.
    package var reason: String? { expect["reason"]?.string }
    /// `input.kind`.
    package var kind: String? { input["kind"]?.string }
}

/// A file of published or project test cases.
package struct VectorFile: Sendable {
    package let defaults: JSONObject
    package let cases: [VectorCase]

    /// Creates the value from a file. `deep` names the members of the defaults that are merged instead of replaced.
    package init(_ name: String, deep: Set<String> = []) {
        guard let file = try? Self.object("\(name).json") else {
            Issue.record("the vector file \(name) cannot be read")
            defaults = [:]
            cases = []
            return
        }
        let defaults = file["defaults"]?.object ?? [:]
        self.defaults = defaults
        cases = (file["cases"]?.array ?? []).compactMap(\.object).map { entry in
            var input = defaults
            for member in (entry["input"]?.object ?? [:]).members {
                var value = member.value
                if deep.contains(member.name), var merged = defaults[member.name]?.object {
                    for inner in (value.object ?? [:]).members { merged[inner.name] = inner.value }
                    value = .object(merged)
                }
                input[member.name] = value
            }
            return VectorCase(
                id: entry["id"]?.string ?? "", title: entry["title"]?.string ?? "",
                input: Self.expanded(.object(input)).object ?? input,
                expect: entry["expect"]?.object ?? [:], alsoAcceptable: entry["also_acceptable"]?.object)
        }
    }

    /// Returns the JSON object of a file, without defaults applied.
    package static func object(_ name: String) throws -> JSONObject {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: nil, subdirectory: "Vectors"))
        return try #require(try JSONValue(parsing: Data(contentsOf: file)).object)
    }

    /// Returns the names of all files.
    package static func names() throws -> [String] {
        let folder = try #require(Bundle.module.url(forResource: "Vectors", withExtension: nil))
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
            .sorted()
    }

    /// Returns the cases that are not in the list of omitted cases.
    package func cases(except left: [String: String] = [:], where isWanted: (VectorCase) -> Bool = { _ in true })
        -> [VectorCase]
    {
        let known = Set(cases.map(\.id))
        for id in left.keys where !known.contains(id) { Issue.record("\(id) is omitted but does not exist") }
        return cases.filter { left[$0.id] == nil && isWanted($0) }
    }

    /// Replaces `<N x "A">` in each string with N copies of the quoted text.
    private static func expanded(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text):
            guard let match = text.firstMatch(of: /<(\d+) x "([^"]*)">/), let count = Int(match.1) else { return value }
            return .string(text.replacing(match.0, with: String(repeating: String(match.2), count: count)))
        case .array(let elements): return .array(elements.map(expanded))
        case .object(let object):
            return .object(JSONObject(object.members.map { .init(name: $0.name, value: expanded($0.value)) }))
        default: return value
        }
    }
}

extension JSONObject {
    /// Returns an array of strings.
    package func texts(_ name: String) -> [String]? { self[name]?.array?.compactMap(\.string) }

    /// Returns an integer.
    package func int(_ name: String) -> Int? { self[name]?.number?.int64.map(Int.init) }

    /// The response in the member `http`, or in this object if there is no such member.
    package var response: HTTPResponse {
        let http = self["http"]?.object ?? self
        var fields = HTTPFields()
        for member in (http["headers"]?.object ?? [:]).members {
            fields.append(name: member.name, value: member.value.string ?? "")
        }
        if let type = http["content_type"]?.string { fields["Content-Type"] = type }
        let body =
            http["body_base64"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data((http["body"]?.string ?? "").utf8)
        return HTTPResponse(status: http.int("status") ?? 200, fields: fields, body: body)
    }
}
