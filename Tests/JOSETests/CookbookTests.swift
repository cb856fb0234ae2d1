import Foundation
import StrictJSON
import Testing

@testable import JOSE

/// Tests the examples of RFC 7520, RFC 7797 and RFC 8037, if the folder with the published files exists.
@Suite(.enabled(if: Vectors.shared("cookbook") != nil)) struct CookbookTests {
    private func load(_ path: String) throws -> JSONObject {
        try Vectors.object(of: try #require(Vectors.shared("cookbook/\(path)")))
    }

    @Test(arguments: [
        "jwk/3_1.ec_public_key.json", "jwk/3_2.ec_private_key.json", "jwk/3_3.rsa_public_key.json",
        "jwk/3_4.rsa_private_key.json", "jwk/3_5.symmetric_key_mac_computation.json",
        "jwk/3_6.symmetric_key_encryption.json",
    ])
    func `the keys of RFC 7520 section 3 are read and written`(path: String) throws {
        let object = try load(path)
        let key = try JWK(object)
        let written = try key.privateJSON()
        for member in object.members { #expect(written[member.name] == member.value) }
        #expect(written.members.count == object.members.count)
    }

    @Test(arguments: [
        "jws/4_1.rsa_v15_signature.json", "jws/4_2.rsa-pss_signature.json", "jws/4_3.ecdsa_signature.json",
        "jws/4_4.hmac-sha2_integrity_protection.json", "jws/4_5.signature_with_detached_content.json",
        "jws/4_6.protecting_specific_header_fields.json", "jws/4_7.protecting_content_only.json",
        "jws/4_8.multiple_signatures.json", "curve25519/jws.json",
    ])
    func `the signatures of RFC 7520 section 4 verify in every serialization`(
        path: String
    ) throws {
        let example = try load(path)
        let input = try example.object("input")
        let payload = try input.string("payload").bytes
        let output = try example.object("output")
        let keys = try (input["key"]?.array ?? [input["key"] ?? .null]).map { try JWK(try #require($0.object)) }
        let names = (input["alg"]?.array ?? [input["alg"] ?? .null]).compactMap(\.string)
        let algorithms = try names.map { try #require(JWSAlgorithm(rawValue: $0)) }
        var forms: [JWS] = []
        // The examples with detached content omit the payload in each serialization.
        if let text = output["compact"]?.string {
            forms.append(try JWS(compact: text, detachedPayload: text.contains("..") ? payload : nil))
        }
        for name in ["json", "json_flat"] {
            guard let object = output[name]?.object else { continue }
            forms.append(try JWS(json: object, detachedPayload: object["payload"] == nil ? payload : nil))
        }
        #expect(!forms.isEmpty)
        for jws in forms {
            #expect(jws.signatures.count == keys.count)
            for (key, algorithm) in zip(keys, algorithms) {
                #expect(try jws.verified(with: key, algorithms: [algorithm]).payload == payload)
                guard algorithm.keyType != .symmetric else { continue }
                #expect(try jws.verified(with: JWKSet(keys), algorithms: [algorithm]).key.type == algorithm.keyType)
            }
        }
        if example["reproducible"] == true { try reproduce(example, payload, keys[0], algorithms[0]) }
    }

    private func reproduce(
        _ example: JSONObject, _ payload: [UInt8], _ key: JWK, _ algorithm: JWSAlgorithm
    ) throws {
        // CryptoKit randomizes signatures of Ed25519.
        if algorithm.keyType == .okp, Backend.isCryptoKit { return }
        let signing = try example.object("signing")
        let signature = try key.signature(of: try signing.string("sig-input").bytes, using: algorithm)
        #expect(Base64URL.encode(signature) == (try signing.string("sig")))
        // Only headers in this module's order are comparable: alg first.
        guard var header = signing["protected"]?.object else { return }
        header["alg"] = nil
        let jws = try JWS(
            signing: payload, with: key, algorithm: algorithm, header: header,
            unprotectedHeader: signing["unprotected"]?.object ?? [:])
        let output = try example.object("output")
        let isDetached = output["compact"]?.string?.contains("..") ?? false
        #expect(jws.compact(isDetached: isDetached) == output["compact"]?.string)
        #expect(jws.json(.general, isDetached: isDetached) == output["json"]?.object)
    }

    /// Rejects unencoded payloads, which are an unsupported extension.
    @Test(arguments: ["rfc7797/4.2.hmac-sha2_b64_false.json", "rfc7797/hmac-sha2_b64_false.json"])
    func `an unencoded payload (RFC 7797) is rejected`(path: String) throws {
        let example = try load(path)
        let key = try JWK(try example.object("input").object("key"))
        let output = try example.object("output")
        for name in ["json", "json_flat"] {
            #expect(throws: JOSEError.self) {
                try JWS(json: try output.object(name)).verified(with: key, algorithms: [.hs256])
            }
        }
        let first = try output.object("json").objects("signatures")[0]
        let isCritical = try JWS(compact: "\(try first.string("protected")).JC4wMg.\(try first.string("signature"))")
        #expect(throws: JOSEError.self) { try isCritical.verified(with: key, algorithms: [.hs256]) }
    }

    @Test func `a key agreement key (RFC 8037 A.6) is not a signature key`() throws {
        let example = try load("curve25519/ecdh-es.json")
        let key = try #require(try example.object("input")["key"]?.object)
        #expect(throws: JOSEError.self) { try JWK(key) }
    }
}
