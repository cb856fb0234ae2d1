import StrictJSON
import Testing

@testable import JOSE

/// Tests the examples in RFC 7515, 7517, 7638, 8037 and 9449.
@Suite struct RFCExampleTests {
    @Test func `the signatures of RFC 7515 and RFC 8037 verify, and unsecured JWS do not`() throws {
        let examples = try Vectors.load("rfc7515-rfc8037-examples.json").objects("vectors")
        #expect(examples.count == 7)
        for example in examples {
            let jws = try JWS(compact: try example.string("jws"))
            guard example["valid"] == true else {
                #expect(throws: JOSEError.algorithmNotAllowed("none")) {
                    try jws.verified(with: JWKSet(), algorithms: Set(JWSAlgorithm.allCases))
                }
                continue
            }
            let algorithm = try #require(JWSAlgorithm(name: try example.string("alg")))
            let key = try JWK(try example.object("jwk"))
            let verified = try jws.verified(with: key, algorithms: [algorithm])
            #expect(verified.payload == jws.unverifiedPayload)
            #expect(verified.algorithm == algorithm)
            #expect(throws: JOSEError.algorithmNotAllowed(algorithm.rawValue)) {
                try jws.verified(with: key, algorithms: Set(JWSAlgorithm.allCases).subtracting([algorithm]))
            }
            if let publicKey = key.publicKey { _ = try jws.verified(with: publicKey, algorithms: [algorithm]) }
            if let thumbprint = example["thumbprint"]?.string { #expect(key.thumbprint() == thumbprint) }
        }
    }

    @Test(arguments: ["RFC7515-A.1", "RFC7515-A.2", "RFC8037-A.4"])
    func `deterministic algorithms reproduce the published signatures`(id: String) throws {
        let example = try #require(
            Vectors.load("rfc7515-rfc8037-examples.json").objects("vectors").first { $0["id"]?.string == id })
        let parts = try example.string("jws").split(separator: ".")
        let algorithm = try #require(JWSAlgorithm(name: try example.string("alg")))
        let key = try JWK(try example.object("jwk"))
        let content = "\(parts[0]).\(parts[1])".bytes
        let signature = try key.signature(of: content, using: algorithm)
        // CryptoKit randomizes signatures of Ed25519.
        if algorithm.keyType == .okp, Backend.isCryptoKit {
            #expect(try key.isSignature(signature, of: content, using: algorithm))
        } else {
            #expect(Base64URL.encode(signature) == parts[2])
        }
    }

    /// Combines the signatures of RFC 7515 A.2 and A.3 in JSON (A.6, A.7), and detaches a payload (appendix F).
    @Test func `the serializations of RFC 7515 A.6, A.7 and F verify`() throws {
        let examples = try Vectors.load("rfc7515-rfc8037-examples.json").objects("vectors")
        func parts(_ index: Int) throws -> [String] {
            try examples[index].string("jws").split(separator: ".").map(String.init)
        }
        let (rsa, ec) = (try parts(1), try parts(2))
        let ecKey = try JWK(try examples[2].object("jwk").with("kid", "e9bc097a-ce51-4036-9562-d2ade882db0d"))
        let rsaKey = try JWK(try examples[1].object("jwk").with("kid", "2010-12-29"))
        let first: JSONObject = [
            "protected": .string(rsa[0]), "header": ["kid": "2010-12-29"], "signature": .string(rsa[2]),
        ]
        let second: JSONObject = [
            "protected": .string(ec[0]), "header": ["kid": "e9bc097a-ce51-4036-9562-d2ade882db0d"],
            "signature": .string(ec[2]),
        ]
        let general = try JWS(json: [
            "payload": .string(rsa[1]), "signatures": .array([.object(first), .object(second)]),
        ])
        #expect(try general.verified(with: JWKSet([rsaKey]), algorithms: [.rs256]).algorithm == .rs256)
        #expect(try general.verified(with: JWKSet([ecKey]), algorithms: [.rs256, .es256]).algorithm == .es256)
        #expect(general.json(.flattened) == nil && general.compact() == nil)
        let flattened = try JWS(json: JSONObject([.init(name: "payload", value: .string(ec[1]))] + second.members))
        #expect(try flattened.verified(with: JWKSet([rsaKey, ecKey]), algorithms: [.es256]).key.type == .ec)

        let content = try #require(Base64URL.decode(ec[1]))
        let detached = try JWS(compact: "\(ec[0])..\(ec[2])", detachedPayload: content)
        #expect(try detached.verified(with: ecKey, algorithms: [.es256]).payload == content)
        #expect(throws: JOSEError.signature) {
            try JWS(compact: "\(ec[0])..\(ec[2])", detachedPayload: content + [1])
                .verified(with: ecKey, algorithms: [.es256])
        }
    }

    @Test func `RFC 7517 A.1 is a set of two public keys`() throws {
        let example = try Vectors.load("rfc7517-examples.json").object("A.1")
        let set = try JWKSet(example)
        #expect(set.keys.map(\.keyID) == ["1", "2011-04-29"])
        #expect(set.skippedKeyCount == 0)
        #expect(set.candidates(for: .es256, keyID: "1").isEmpty, "its use is enc")
        #expect(set.candidates(for: .rs256, keyID: nil).count == 1)
        for (key, object) in zip(set.keys, try example.objects("keys")) {
            for member in object.members { #expect(key.publicJSON[member.name] == member.value) }
            #expect(key.publicJSON.members.count == object.members.count)
        }
    }

    @Test func `the key pairs of RFC 7517 A.2 sign and survive a round trip`() throws {
        let example = try Vectors.load("rfc7517-examples.json").object("A.2")
        for object in try example.objects("keys") {
            let key = try JWK(object)
            #expect(key.isPrivate)
            let written = try key.privateJSON()
            for member in object.members { #expect(written[member.name] == member.value) }
            #expect(written.members.count == object.members.count)
            #expect(key.publicJSON["d"] == nil)
        }
        let rsa = try JWK(try example.objects("keys")[1])
        let text = try JWT.sign(["a": 1], with: rsa, algorithm: .rs256)
        let published = try JWKSet(try Vectors.load("rfc7517-examples.json").object("A.1"))
        #expect(try JWT(parsing: text).verified(with: published, algorithms: [.rs256]).key.keyID == "2011-04-29")
        #expect(try JWKSet(example).keys.allSatisfy { !$0.isPrivate }, "a set never holds private keys")
    }

    @Test func `RFC 7517 A.3 contains two secrets, which JWKSet skips`() throws {
        let example = try Vectors.load("rfc7517-examples.json").object("A.3")
        let keys = try example.objects("keys").map { try JWK($0) }
        #expect(keys.map(\.bitCount) == [128, 512])
        #expect(keys[1].canSign(with: .hs512) && !keys[0].canSign(with: .hs256))
        #expect(try keys[1].privateJSON()["k"] == (try example.objects("keys")[1]["k"]))
        #expect(try JWKSet(example).keys.isEmpty)
        #expect(try JWKSet(example).skippedKeyCount == 2)
    }

    @Test func `the keys of RFC 7517 B and RFC 7638 3.1 are read`() throws {
        let key = try JWK(try Vectors.load("rfc7517-examples.json").object("B"))
        #expect(key.canVerify(.rs256) && key.bitCount == 2048)
        let example = try Vectors.load("rfc7636-rfc7638-hashes.json").object("thumbprint")
        let thumbprint = try example.string("sha256")
        #expect(try JWK(try example.object("jwk")).thumbprint(.sha256) == thumbprint)
    }

    @Test func `the proofs of RFC 9449 verify with the key in their header`() throws {
        let file = try Vectors.load("rfc9449-dpop-examples.json")
        let key = try JWK(try file.object("jwk"))
        #expect(key.thumbprint() == (try file.string("jkt")))
        let ath = try file.string("ath")
        #expect(Base64URL.encode(SHA2.sha256.digest(try file.string("access_token").utf8)) == ath)
        let proofs = try file.objects("proofs")
        #expect(!proofs.isEmpty)
        for proof in proofs {
            let token = try JWT(parsing: try proof.string("proof"))
            let verified = try token.verified(with: key, algorithms: [.es256])
            #expect(verified.claims.members == (try proof.object("claims")))
            #expect(verified.header == (try proof.object("header")))
        }
    }
}
