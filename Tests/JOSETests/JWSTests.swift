import StrictJSON
import Testing

@testable import JOSE

@Suite struct JWSTests {
    let key: JWK
    let all = Set(JWSAlgorithm.allCases)

    init() throws { key = try JWK(secret: [UInt8](0..<32)) }

    /// Returns a compact JWS with this header text and a valid signature.
    private func forged(_ header: String, _ payload: String = "{}") throws -> String {
        let input = "\(Base64URL.encode(header.utf8)).\(Base64URL.encode(payload.utf8))"
        return try "\(input).\(Base64URL.encode(key.signature(of: input.bytes, using: .hs256)))"
    }

    private func failure(_ text: String) -> JOSEError? {
        do throws(JOSEError) {
            _ = try JWS(compact: text).verified(with: key, algorithms: all)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a JWS with a valid header verifies, as a control for the invalid headers`() throws {
        #expect(failure(try forged(#"{"alg":"HS256"}"#)) == nil)
        #expect(failure(try forged(#" {"alg":"HS256","b64":true,"x":[1]}"#)) == nil)
    }

    @Test(arguments: [
        #"{"alg":"HS256","crit":["exp"],"exp":1}"#, #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256","crit":"b64"}"#,
        #"{"alg":"HS256","crit":["b64"],"b64":false}"#, #"{"alg":"HS256","crit":["b64"],"b64":true}"#,
        #"{"alg":"HS256","crit":null}"#,
    ])
    func `an unsupported critical header is rejected`(header: String) throws {
        #expect(failure(try forged(header)) == .criticalUnsupported)
    }

    @Test(arguments: [
        #"{"alg":"HS256","alg":"HS256"}"#, #"{"alg":"none","alg":"HS256"}"#, #"{"alg":"HS256","a\u006cg":"HS256"}"#,
        #"{"alg":"HS256","x":{"y":1,"y":2}}"#, #"{"alg":1}"#, #"{"alg":"HS256","kid":1}"#, #"{"alg":"HS256","typ":[]}"#,
        #"{"alg":"HS256","b64":false}"#, #"["HS256"]"#, "HS256", "", "{", "\u{FEFF}{\"alg\":\"HS256\"}", "null",
        #"{"alg":"HS256"} {}"#,
    ])
    func `an invalid header is rejected`(header: String) throws {
        switch failure(try forged(header)) {
        case .header?, .malformed?: break
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "HS257", "hs256", "HS256 ", "", "RSA-OAEP", "HS256\u{0}"])
    func `an unknown algorithm is rejected`(name: String) throws {
        let header = JSONValue.object(["alg": .string(name)]).text()
        guard case .algorithmNotAllowed(let named)? = failure(try forged(header)) else {
            Issue.record("accepted")
            return
        }
        #expect(named == (name.lowercased() == "none" ? "none" : "an algorithm that is not supported"))
        #expect(JWSAlgorithm(name: name) == nil && JWSAlgorithm(rawValue: "none") == nil)
    }

    @Test(arguments: [
        "", ".", "..", "...", "a", "a.b", "eyJhbGciOiJIUzI1NiJ9.e30", "eyJhbGciOiJIUzI1NiJ9.e30.AA.",
        "eyJhbGciOiJIUzI1NiJ9.e30.A", " eyJhbGciOiJIUzI1NiJ9.e30.AA", "eyJhbGciOiJIUzI1NiJ9.e30.AA\n",
        "eyJhbGciOiJIUzI1NiJ9=.e30.AA", "eyJhbGciOiJIUzI1NiJ9.e30=.AA", "eyJhbGciOiJIUzI1NiJ9.e30.AA==",
        "eyJhbGciOiJIUzI1NiJ9.e30.AB", "eyJhbGciOiJIUzI1NiJ9.e31.AA", "eyJhbGciOiJIUzI1NiJ9.e30.+/", "a.b.c.d.e",
        "\u{1F600}",
    ])
    func `a string that is not a compact JWS is malformed`(text: String) {
        guard case .malformed? = failure(text) else {
            Issue.record("\(String(describing: failure(text)))")
            return
        }
    }

    @Test func `verification detects every changed character`() throws {
        let text = Array(try forged(#"{"alg":"HS256"}"#).utf8)
        for index in text.indices {
            for replacement in "A_z.".utf8 where replacement != text[index] {
                var changed = text
                changed[index] = replacement
                #expect(failure(String(decoding: changed, as: UTF8.self)) != nil)
            }
        }
    }

    @Test func `each of several signatures verifies with its own key`() throws {
        let ec = try JWK.generate(for: .es256, keyID: "ec")
        let jws = try JWS(signing: "x".bytes, with: key, algorithm: .hs256)
            .signed(with: ec, algorithm: .es256, unprotectedHeader: ["note": "n"])
        let read = try JWS(json: try #require(jws.json()))
        #expect(try read.verified(with: JWKSet([ec]), algorithms: [.es256, .hs256]).key.keyID == "ec")
        #expect(try read.verified(with: key, algorithms: [.hs256]).payload == "x".bytes)
        #expect(throws: JOSEError.signature) {
            try read.verified(with: JWKSet([JWK.generate(for: .es256, keyID: "ec")]), algorithms: [.es256])
        }
        #expect(throws: JOSEError.algorithmNotAllowed("HS256")) { try read.verified(with: key, algorithms: [.rs256]) }
        #expect(throws: JOSEError.keyNotFound) { try read.verified(with: JWKSet(), algorithms: [.es256, .hs256]) }
        var signed = jws
        for _ in 2..<JWS.maximumSignatureCount { signed = try signed.signed(with: key, algorithm: .hs256) }
        #expect(throws: JOSEError.self) { try signed.signed(with: key, algorithm: .hs256) }
        #expect(try JWS(json: try #require(signed.json())).signatures.count == 16)
    }

    @Test func `flattened, detached and serialized JWS survive a round trip`() throws {
        let jws = try JWS(signing: "x".bytes, with: key, algorithm: .hs256, header: ["typ": "t"])
        let flattened = JSONValue.object(try #require(jws.json(.flattened))).serialized()
        #expect(try JWS(parsingJSON: flattened).verified(with: key, algorithms: [.hs256]).payload == "x".bytes)
        let detached = try #require(jws.json(.general, isDetached: true))
        #expect(detached["payload"] == nil)
        let read = try JWS(json: detached, detachedPayload: "x".bytes)
        #expect(try read.verified(with: key, algorithms: [.hs256]).payload == "x".bytes)
        #expect(throws: JOSEError.self) { try JWS(json: detached) }
        #expect(throws: JOSEError.self) { try JWS(compact: jws.compact() ?? "", detachedPayload: "x".bytes) }
        #expect(jws.signatures[0].header == ["alg": "HS256", "typ": "t"])
    }

    @Test(arguments: [
        #"{}"#, #"[]"#, #"{"payload":"e30"}"#, #"{"payload":1,"signature":"AA"}"#, #"{"payload":"e30","signature":1}"#,
        #"{"payload":"e30","signatures":[]}"#, #"{"payload":"e30","signatures":{}}"#,
        #"{"payload":"e30","signatures":[1]}"#,
        #"{"payload":"e30","signatures":[{"signature":"AA"}],"signature":"AA"}"#,
        #"{"payload":"e30","signature":"AA","signature":"AA"}"#, #"{"payload":"e30","signature":"AA","header":1}"#,
        #"{"payload":"e30","signature":"AA","protected":"eyJhbGciOiJIUzI1NiJ9","header":{"alg":"HS256"}}"#,
        #"{"payload":"e30","signature":"AA","header":{"alg":"HS256","crit":["x"],"x":1}}"#,
        #"{"payload":"e3","signature":"AA="}"#, #"{"payload":"e30","signature":"AA","protected":"e"}"#,
    ])
    func `an invalid JSON serialization is rejected`(text: String) {
        #expect(throws: JOSEError.self) { try JWS(parsingJSON: text.utf8) }
    }

    @Test func `a JSON serialization with more than 16 signatures is rejected`() {
        let one: JSONValue = ["header": ["alg": "HS256"], "signature": "AA"]
        #expect(throws: Never.self) {
            try JWS(json: ["payload": "", "signatures": .array(Array(repeating: one, count: 16))])
        }
        #expect(throws: JOSEError.self) {
            try JWS(json: ["payload": "", "signatures": .array(Array(repeating: one, count: 17))])
        }
    }

    @Test func `a caller cannot set alg, crit and b64`() throws {
        for name in ["alg", "crit", "b64"] {
            #expect(throws: JOSEError.self) {
                try JWS(signing: [], with: key, algorithm: .hs256, header: JSONObject([.init(name: name, value: "x")]))
            }
            #expect(throws: JOSEError.self) {
                try JWS(
                    signing: [], with: key, algorithm: .hs256,
                    unprotectedHeader: JSONObject([.init(name: name, value: "x")]))
            }
        }
        #expect(throws: JOSEError.self) {
            try JWS(signing: [], with: key, algorithm: .hs256, header: ["x": 1], unprotectedHeader: ["x": 1])
        }
    }

    @Test func `descriptions contain no part of a JWS`() throws {
        let jws = try JWS(signing: "x".bytes, with: key, algorithm: .hs256)
        let verified = try jws.verified(with: key, algorithms: [.hs256])
        let values: [Any] = [jws, jws.signatures[0], verified]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(Mirror(reflecting: value).children.isEmpty)
            #expect(dumped.count < 60)
        }
    }
}
