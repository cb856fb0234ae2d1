import Foundation
import StrictJSON
import TestSupport
import Testing

/// Tests that each published case has a test. The tests of the transport, the loopback listener and the store's refresh
/// check their own cases.
struct VectorCoverageTests {
    /// The cases that the parameterized tests of this module run.
    static let run: [String: [[VectorCase]]] = [
        "authorization-responses": [AuthorizationResponseTests.cases],
        "client-auth": [ClientAuthenticationTests.cases],
        "device-flow": [
            DeviceGrantTests.authorizations, DeviceGrantTests.polls, DeviceGrantTests.requests,
            DeviceGrantTests.prompts,
        ],
        "discovery": [DiscoveryTests.addresses, DiscoveryTests.documents, JWKSTests.cases],
        "dpop": ["hash", "htu", "proof", "sequence"].map(DPoPTests.cases),
        "id-token-claims": [IDTokenClaimTests.file.cases()],
        "json-malformed": [MalformedJSONTests.cases],
        "other-endpoints": ["revocation", "introspection", "par", "registration", "token_exchange"].map(
            OtherEndpointTests.cases),
        "pkce": [PKCETests.cases],
        "provider-quirks": [
            ProviderQuirkTests.cases, ProviderQuirkTests.withIDToken,
            ProviderQuirkTests.file.cases { ProviderQuirkTests.device.contains($0.id) },
        ],
        "redaction": [RedactionTests.cases],
        "request-building": ["authorization_url", "token_request", "resource_request", "end_session"].map(
            RequestBuildingTests.cases),
        "signed-id-tokens": [SignedIDTokenTests.file.cases()],
        "token-responses": [TokenResponseTests.file.cases()],
        "userinfo": [UserInfoTests.plainCases, UserInfoTests.signedCases],
        "www-authenticate": [AuthenticationChallengeTests.fields, AuthenticationChallengeTests.decisions],
    ]

    /// The tests of other modules that cover a case, if their names do not start with its identifier.
    static let held: [String: [String: [String]]] = [
        "dpop": ["DP-026": ["the code, refresh and resource requests have proofs of one key in the sealed record"]],
        "redaction": [
            "RD-012": ["--debug prints neither header fields nor content of requests"],
            "RD-013": ["--debug prints neither header fields nor content of requests"],
        ],
        "request-building": [
            "RB-062": ["a one-hour token is stale if less than the margin of ten seconds is left"],
            "RB-064": ["a one-hour token is stale if less than the margin of ten seconds is left"],
        ],
    ]

    @Test(arguments: run.keys.sorted())
    func `each published case has a test`(file: String) throws {
        let run = Self.run[file]?.flatMap { $0 }.map(\.id) ?? []
        try VectorCoverage.check(file, run: run, held: Self.held[file] ?? [:])
    }

    @Test func `each vector file is checked for cases without a test`() throws {
        let sources = try VectorCoverage.sources().joined(separator: "\n")
        // The key sets of discovery for JOSE, whose own test runs all cases.
        var checked: Set = ["discovery-jwks"]
        checked.formUnion(Self.run.keys)
        checked.formUnion(sources.matches(of: /VectorCoverage\.check\("([a-z-]+)"/).map { String($0.1) })
        var files: Set<String> = []
        for name in try VectorFile.names() where try VectorFile.object(name)["cases"]?.array != nil {
            files.insert(String(name.dropLast(5)))
        }
        #expect(files.count >= 20)
        #expect(files == checked)
    }

    /// The members of `expect` that tests cannot evaluate, and why.
    static let prose = [
        "must": "sentences, checked by the tests in `RefreshScenarioTests.held`",
        "precondition": "a sentence", "same_jwk_as": "a sentence", "except": "a sentence",
        "form_may_contain": "a permission",
    ]

    @Test func `a test reads each member of expect`() throws {
        let sources = try VectorCoverage.sources().joined(separator: "\n")
        for name in try VectorFile.names() {
            let cases = try VectorFile.object(name)["cases"]?.array ?? []
            let members = Set(cases.flatMap { $0.object?["expect"]?.object?.members.map(\.name) ?? [] })
            for member in members.subtracting(Self.prose.keys).sorted() {
                #expect(sources.contains("\"\(member)\""), "\(name): \(member)")
            }
        }
    }

    // A newly published case fails until it has a test.
    @Test(.enabled(if: SharedFolder.url("vectors") != nil))
    func `the vector files contain each published case`() throws {
        func published(_ name: String) throws -> Set<String>? {
            guard let file = SharedFolder.url("vectors/\(name)") else { return nil }
            return Self.identifiers(try #require(try JSONValue(parsing: Data(contentsOf: file)).object))
        }
        let folder = try #require(SharedFolder.url("vectors"))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        #expect(!names.isEmpty)
        for name in names {
            let copy = try VectorFile.names().contains(name) ? Self.identifiers(VectorFile.object(name)) : nil
            #expect(try copy == published(name), "\(name)")
        }
    }

    private static func identifiers(_ file: JSONObject) -> Set<String> {
        Set((file["cases"]?.array ?? []).compactMap { $0.object?["id"]?.string })
    }
}
