@testable import JOSE
import LodgePlatform
import StrictJSON

let joseReaders = [
    FuzzReader(
        "jws",
        [
            .init("", "a."), .init("eyJhbGciOiJIUzI1NiJ9.", "YWFh", ".YWFh"), .init("", "."), .init("", "="),
            .init("{\"payload\":\"\",\"signatures\":[", "{\"protected\":\"\",\"signature\":\"\"},", "{}]}"),
            .init("{\"payload\":\"", "YWFh", "\",\"signature\":\"\"}"),
        ], readJWS),
    FuzzReader(
        "jwk",
        [
            .init("{\"keys\":[", "{\"kty\":\"oct\",\"k\":\"AAAA\"},", "{}]}"),
            .init("{\"kty\":\"RSA\",\"n\":\"", "AQAB", "\",\"e\":\"AQAB\"}"),
            .init("{\"kty\":\"RSA\",\"e\":\"", "AQAB", "\",\"n\":\"AQAB\"}"),
            .init("{", "\"kty\":\"EC\",", "\"x\":\"\"}"),
            .init("{\"keys\":[", "{},", "{}]}"), .init("{\"kty\":\"oct\"", ",\"a%N\":1", ",\"k\":\"AAAA\"}"),
        ], readJWK),
    FuzzReader(
        "certificate",
        [
            .init("-----BEGIN CERTIFICATE-----\n", "AAAA", "\n-----END CERTIFICATE-----\n"), .init("", "\n"),
            .init("", "-----BEGIN CERTIFICATE-----\n"), .init("", "-----BEGIN PRIVATE KEY-----\n"), .init("", "0"),
        ], readCertificate),
    FuzzReader("sealed", [.init("", "a"), .init("{\"id\":\"", "a", "\"}")], readSealed),
]

private let key = try? JWK(secret: [UInt8](repeating: 7, count: 32))
private let sealingKey = try? SealingKey([UInt8](repeating: 7, count: 32))

private func readJWS(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let compact = try? JWS(compact: text)
    let json = try? JWS(parsingJSON: bytes)
    require(compact == nil || json == nil, "an input has one form")
    for jws in [compact, json].compactMap(\.self) {
        require(!jws.signatures.isEmpty, "a JWS has a signature")
        // The key is 32 times the byte 7: no seed is signed with it.
        if let key { require((try? jws.verified(with: key, algorithms: [.hs256])) == nil, "no input verifies") }
    }
    if let token = try? JWT(parsing: text) {
        require(compact != nil, "a JWT is a compact JWS")
        require(!token.description.contains("."), "the description has no part of the token")
    }
}

private func readJWK(_ bytes: [UInt8]) {
    if let key = try? JWK(parsing: bytes), let half = key.publicKey {
        let again = try? JWK(half.publicJSON)
        require(again?.publicJSON == half.publicJSON, "a public key that is written is read unchanged")
        require(half.publicJSON["d"] == nil && half.publicJSON["k"] == nil, "a public key has no secret")
    }
    if let set = try? JWKSet(parsing: bytes) {
        require(set.keys.count <= JWKSet.maximumKeyCount, "the number of keys has a limit")
        require((try? JWKSet(set.json))?.keys.count == set.keys.count, "a written set is read unchanged")
    }
}

private func readCertificate(_ bytes: [UInt8]) {
    for identity in [try? CertificateIdentity(pem: bytes), try? CertificateIdentity(pkcs12: bytes)].compactMap(\.self) {
        require(JWK.rsaBitCounts.contains(identity.key.bitCount), "the key of a certificate is strong")
        let content = Array("content".utf8)
        let signature = try? identity.key.signature(of: content, using: .ps256)
        require(signature != nil, "the key of a certificate signs")
    }
}

private func readSealed(_ bytes: [UInt8]) {
    guard let sealingKey else { return }
    require((try? sealingKey.open(bytes)) == nil, "no other bytes open")
    guard var sealed = try? sealingKey.seal(bytes.prefix(4096)) else { return }
    require((try? sealingKey.open(sealed)) == Array(bytes.prefix(4096)), "sealed bytes open unchanged")
    let position = (Int(bytes.first ?? 0) * 251 + bytes.count) % sealed.count
    sealed[position] ^= 1 << (UInt8(truncatingIfNeeded: bytes.count) % 8)
    require((try? sealingKey.open(sealed)) == nil, "changed bytes do not open")
}
