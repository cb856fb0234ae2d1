import StrictJSON
import Testing

@testable import JOSE

@Suite struct JWKSetTests {
    let key: JWK

    init() throws { key = try JWK.generate(for: .es256, keyID: "a") }

    private func set(_ elements: JSONValue...) throws -> JWKSet { try JWKSet(["keys": .array(elements)]) }

    @Test func `JWKSet skips and counts invalid and unknown keys`() throws {
        let set = try set(
            "x", nil, ["kty": "AKP"], .object(key.publicJSON.with("x", "AA")), .object(key.publicJSON),
            [
                "kty": "oct",
                "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
            ])
        #expect(set.keys.count == 1)
        #expect(set.skippedKeyCount == 5)
    }

    @Test func `JWKSet contains no secrets or private keys and does not write them`() throws {
        let secret = try JWK.generate(for: .hs256)
        let own = JWKSet([key, secret])
        #expect(own.keys.count == 1 && own.skippedKeyCount == 1)
        #expect(own.keys.allSatisfy { !$0.isPrivate })
        let read = try set(.object(try key.privateJSON()), .object(try secret.privateJSON()))
        #expect(read.keys.count == 1 && read.keys.allSatisfy { !$0.isPrivate })
        #expect(JSONValue.object(own.json).text() == JSONValue.object(["keys": [.object(key.publicJSON)]]).text())
        let text = try JWT.sign([:], with: secret, algorithm: .hs256)
        #expect(throws: JOSEError.keyNotFound) { try JWT(parsing: text).verified(with: own, algorithms: [.hs256]) }
    }

    @Test func `JSON that is not a key set is an error`() {
        for text in ["", "[]", "{}", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[],"keys":[]}"#, #"{"keys":[]} x"#] {
            #expect(throws: JOSEError.self) { try JWKSet(parsing: text.utf8) }
        }
        #expect(throws: Never.self) { try JWKSet(parsing: #"{"keys":[],"other":1}"#.utf8) }
    }

    @Test func `JWKSet limits the number of keys and bytes`() throws {
        let many = JSONObject([.init(name: "keys", value: .array(Array(repeating: .null, count: 1001)))])
        #expect(throws: JOSEError.self) { try JWKSet(many) }
        #expect(try JWKSet(["keys": .array(Array(repeating: .null, count: 1000))]).skippedKeyCount == 1000)
        let long = #"{"keys":[]}"#.bytes + [UInt8](repeating: 0x20, count: JWKSet.maximumByteCount)
        #expect(throws: JOSEError.self) { try JWKSet(parsing: long) }
    }

    @Test func `keyID selects keys by exact bytes`() throws {
        var composed = key
        composed.keyID = "\u{E9}"
        #expect(JWKSet([composed]).candidates(for: .es256, keyID: "\u{E9}").count == 1)
        #expect(JWKSet([composed]).candidates(for: .es256, keyID: "e\u{301}").isEmpty)
        #expect(JWKSet([key]).candidates(for: .es256, keyID: "").isEmpty)
        var nameless = key
        nameless.keyID = nil
        #expect(JWKSet([nameless]).candidates(for: .es256, keyID: "a").isEmpty)
        #expect(JWKSet([nameless]).candidates(for: .es256, keyID: nil).count == 1)
    }

    @Test func `JWKSet returns at most 64 candidates`() {
        let set = JWKSet(Array(repeating: key, count: 100))
        #expect(set.keys.count == 100)
        #expect(set.candidates(for: .es256, keyID: nil).count == 64)
        #expect(set.candidates(for: .es256, keyID: "a").count == 64)
    }
}
