import StrictJSON
import Testing

@testable import JOSE

/// The project's own cases. Other tests cover the reload of unknown keys and the checks of claims.
@Suite struct SignedIDTokenTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let id: String
        let title: String
        let token: String
        let keys: JSONObject
        let keysAfterRefetch: JSONObject?
        let algorithms: Set<JWSAlgorithm>
        let secret: [UInt8]?
        let reason: String?
        var testDescription: String { "\(id) \(title)" }
    }

    static let cases: [Case] = {
        guard let file = try? Vectors.load("signed-id-tokens.json"), let defaults = file["defaults"]?.object else {
            return []
        }
        return (file["cases"]?.array ?? []).compactMap(\.object).compactMap { object in
            let input = object["input"]?.object ?? [:]
            func value(_ name: String) -> JSONValue? { input[name] ?? defaults[name] }
            guard let token = input["token"]?.string, let keys = value("jwks")?.object,
                let expected = object["expect"]?.object
            else { return nil }
            return Case(
                id: object["id"]?.string ?? "", title: object["title"]?.string ?? "", token: Self.expanded(token),
                keys: keys, keysAfterRefetch: value("jwks_after_refetch")?.object,
                algorithms: Set(
                    (value("allowed_algs")?.array ?? []).compactMap { $0.string.flatMap(JWSAlgorithm.init(name:)) }),
                secret: value("client_secret")?.string?.bytes, reason: expected["reason"]?.string)
        }
    }()

    /// Replaces `<N x "A">` with N copies of the text.
    static func expanded(_ text: String) -> String {
        guard let open = text.firstIndex(of: "<"), let close = text[open...].firstIndex(of: ">") else { return text }
        let words = text[text.index(after: open)..<close].split(separator: " ")
        guard words.count == 3, let count = Int(words[0]) else { return text }
        return text[..<open] + String(repeating: words[2].filter { $0 != "\"" }, count: count)
            + expanded(String(text[text.index(after: close)...]))
    }

    @Test func `the file contains all cases`() { #expect(Self.cases.count == 86) }

    @Test(arguments: cases) func `the signature and header produce the expected result of the case`(_ example: Case) {
        var outcome = Self.outcome(example, example.keys)
        // A caller reloads the key set once if a key is missing or a signature does not match.
        if outcome == "key_not_found" || outcome == "signature", let keys = example.keysAfterRefetch {
            outcome = Self.outcome(example, keys)
        }
        // The signatures of these cases are valid; other code checks the times, audience and type.
        let isAboutClaims = ["SJ-103", "SJ-104", "SJ-109"].contains(example.id)
        #expect(outcome == (isAboutClaims ? nil : example.reason) ?? "accept")
    }

    private static func outcome(_ example: Case, _ keys: JSONObject) -> String {
        do throws(JOSEError) {
            _ = try JWT(parsing: example.token).verified(
                with: JWKSet(keys), secret: example.secret, algorithms: example.algorithms)
            return "accept"
        } catch {
            return switch error {
            case .malformed: "malformed"
            case .header: "header"
            case .claims: "claims"
            case .algorithmNotAllowed: "alg_not_allowed"
            case .criticalUnsupported: "crit_unsupported"
            case .keyNotFound: "key_not_found"
            case .signature: "signature"
            default: "\(error)"
            }
        }
    }

    @Test func `the key sets of discovery contain the usable keys of each case`() throws {
        let cases = try Vectors.load("discovery-jwks.json").objects("cases")
        #expect(cases.count == 13)
        for example in cases {
            let expected = try example.object("expect")
            let keys = try example.object("input").object("jwks")
            guard expected["outcome"] == "accept" else {
                #expect(throws: JOSEError.self) { try JWKSet(keys) }
                continue
            }
            let usable = try JWKSet(keys).keys.filter { key in JWSAlgorithm.allCases.contains { key.canVerify($0) } }
            #expect(usable.map { $0.keyID ?? "" } == expected["usable_kids"]?.array?.compactMap(\.string), "\(example)")
        }
    }
}
