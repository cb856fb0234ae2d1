import Foundation
import StrictJSON
import Testing

@testable import JOSE

/// Tests the Wycheproof cases of C2SP, if the folder with the published files exists.
@Suite(.enabled(if: Vectors.shared("wycheproof") != nil)) struct WycheproofTests {
    private func groups(_ name: String) throws -> [JSONObject] {
        try Vectors.object(of: try #require(Vectors.shared("wycheproof/\(name)"))).objects("testGroups")
    }

    /// Returns the cases of a file with a different result.
    private func deviations(_ name: String, _ isValid: (JSONObject, JSONObject) throws -> Bool?) throws -> [Int64] {
        var deviations: [Int64] = []
        var count = 0
        for group in try groups(name) {
            for test in try group.objects("tests") {
                guard let answer = try isValid(group, test) else { continue }
                count += 1
                let result = try test.string("result")
                if result == "acceptable" { continue }
                if answer != (result == "valid") { deviations.append(test["tcId"]?.number?.int64 ?? -1) }
            }
        }
        #expect(count > 0)
        return deviations
    }

    private func raw(_ name: String, _ algorithm: JWSAlgorithm, _ member: String = "publicKeyJwk") throws {
        let deviations = try deviations(name) { group, test in
            let key = try JWK(try group[member]?.object?.with("kid", nil).with("alg", nil) ?? point(group))
            return try key.isSignature(
                try test.string("sig").hexadecimal, of: try test.string("msg").hexadecimal, using: algorithm)
        }
        #expect(deviations == [])
    }

    /// Returns the JWK of a group whose key is an uncompressed point.
    private func point(_ group: JSONObject) throws -> JSONObject {
        let key = try group.object("publicKey")
        let coordinates = try key.string("uncompressed").hexadecimal.dropFirst()
        return [
            "kty": "EC", "crv": try key.string("curve") == "secp256r1" ? "P-256" : "P-384",
            "x": .string(Base64URL.encode(coordinates.prefix(coordinates.count / 2))),
            "y": .string(Base64URL.encode(coordinates.suffix(coordinates.count / 2))),
        ]
    }

    @Test func `ECDSA on P-256 agrees with Wycheproof`() throws {
        try raw("ecdsa_secp256r1_sha256_p1363_test.json", .es256)
    }
    @Test func `ECDSA on P-384 agrees with Wycheproof`() throws {
        try raw("ecdsa_secp384r1_sha384_p1363_test.json", .es384)
    }
    @Test func `Ed25519 agrees with Wycheproof`() throws { try raw("ed25519_test.json", .ed25519) }
    @Test func `RSA-PSS agrees with Wycheproof`() throws { try raw("rsa_pss_2048_sha256_mgf1_32_test.json", .ps256) }
    @Test func `RSASSA-PKCS1-v1_5 agrees with Wycheproof`() throws {
        try raw("rsa_signature_2048_sha256_test.json", .rs256, "keyJwk")
    }

    @Test func `HMAC-SHA-256 agrees with Wycheproof`() throws {
        let deviations = try deviations("hmac_sha256_test.json") { group, test in
            let tag = try test.string("tag").hexadecimal
            let secret = try test.string("key").hexadecimal
            // JOSE allows neither truncated tags nor short keys: skip the first, and test that the second are rejected.
            guard group["tagSize"]?.number?.int64 == 256 else { return nil }
            let code = SecretBytes(secret).authenticationCode(of: try test.string("msg").hexadecimal, .sha256)
            let key = try JWK(secret: secret)
            if secret.count < 32 {
                #expect(throws: JOSEError.self) { try key.isSignature(tag, of: [], using: .hs256) }
            } else {
                let message = try test.string("msg").hexadecimal
                #expect(try key.isSignature(tag, of: message, using: .hs256) == (test["result"] == "valid"))
            }
            return code == tag
        }
        #expect(deviations == [])
    }

    /// Returns the keys of a group in any format. Invalid keys cause a rejection of the case.
    private func keys(_ group: JSONObject) -> [JWK] {
        guard let object = group["public"]?.object ?? group["private"]?.object else { return [] }
        let objects = object["keys"]?.array?.compactMap(\.object) ?? [object]
        return objects.compactMap { try? JWK($0) }
    }

    private func verifies(_ text: String, _ keys: [JWK]) -> Bool {
        guard let jws = try? JWS(compact: text) else { return false }
        let keyID = jws.signatures[0].keyID
        return keys.contains { key in
            (keys.count == 1 || key.keyID == keyID)
                && (try? jws.verified(with: key, algorithms: Set(JWSAlgorithm.allCases))) != nil
        }
    }

    @Test func `JSON Web Signature agrees with Wycheproof except for known cases`() throws {
        let deviations = try deviations("json_web_signature_test.json") { group, test in
            verifies(try test.string("jws"), keys(group))
        }
        // 346, 347, 350, 351: alg differs between key and header. 367, 370: the same bytes as the valid case 357.
        // 372, 373: "?" in base64url.
        #expect(deviations == [346, 347, 350, 351, 367, 370, 372, 373])
    }

    @Test func `JSON Web Key agrees with Wycheproof except for known cases`() throws {
        let deviations = try deviations("json_web_key_test.json") { group, test in
            verifies(try test.string("jws"), keys(group))
        }
        // 1: the file rejects a set with several key types. 4: it rejects two keys with the same kid.
        #expect(deviations == [1, 4])
    }

    @Test func `JSON Web Crypto agrees with Wycheproof except for a known case`() throws {
        let deviations = try deviations("json_web_crypto_test.json") { group, test in
            guard let text = test["jws"]?.string else { return nil }
            return verifies(text, keys(group))
        }
        // 47: the file rejects a set with several key types.
        #expect(deviations == [47])
    }

    @Test func `an encrypted token is not parsed as a JWS`() throws {
        for group in try groups("json_web_crypto_test.json") {
            for test in try group.objects("tests") {
                guard let text = test["jwe"]?.string, text.split(separator: ".").count == 5 else { continue }
                #expect(throws: JOSEError.self) { try JWS(compact: text) }
            }
        }
    }
}
