import LodgePlatform
import TestSupport
import Testing

@testable import JOSE

/// The URIs of keys in TPMs and on PKCS #11 tokens.
@Suite struct DeviceKeyTests {
    @Test(arguments: [
        ("handle:0x81000001", DeviceKey.Device.tpm, "handle:0x81000001"),
        ("HANDLE:0X81ABCDEF", .tpm, "handle:0x81abcdef"), ("handle:81000001", .tpm, "handle:81000001"),
        ("pkcs11:token=work;object=app;type=private", .token, "pkcs11:token=work;object=app;type=private"),
        ("PKCS11:id=%01%aF;slot-id=3", .token, "pkcs11:id=%01%aF;slot-id=3"),
    ])
    func `the URI of a key in a device is read`(text: String, device: DeviceKey.Device, uri: String) throws {
        let key = try #require(try DeviceKey(text, password: Secret("1234")))
        #expect(key.device == device && key.uri == uri && key.password == Secret("1234"))
        #expect("\(key)" == "\(uri) in the \(device.name)" && !"\(key)".contains("1234"))
    }

    @Test(arguments: [
        "app.key", "/etc/keys/app.key", "./handle:0x81000001", "keys/pkcs11:a", "object:app.obj", "", ":",
    ])
    func `any other text is the path of a file`(text: String) throws { #expect(try DeviceKey(text) == nil) }

    @Test(arguments: [
        ("pkcs11:object=app?pin-value=8231", "pin-value", "set password"),
        ("pkcs11:object=app?pin-source=file:/etc/pin", "pin-source", "set password"),
        ("pkcs11:object=app?module-path=/tmp/evil.so", "a query", "remove the part"),
        ("pkcs11:object=app?module-name=m&pin-value=8231", "a query", "remove the part"),
        ("handle:0x81000001?pass", "pass", "set password"),
        ("handle:", "not of a persistent key", "0x81FFFFFF"),
        ("handle:0x40000001", "not of a persistent key", "0x81FFFFFF"),
        ("handle:0x810000011", "not of a persistent key", "0x81FFFFFF"),
        ("handle:0x8100000g", "not of a persistent key", "0x81FFFFFF"),
        ("pkcs11:", "RFC 7512 does not have", "pkcs11:token="),
        ("pkcs11:app", "RFC 7512 does not have", "pkcs11:token="),
        ("pkcs11:object=app;pin=8231", "RFC 7512 does not have", "pkcs11:token="),
        ("pkcs11:object=app;pin-value=8231", "RFC 7512 does not have", "pkcs11:token="),
        ("pkcs11:object=app;object=b", "duplicate", "once"), ("pkcs11:object=", "malformed", "%20"),
        ("pkcs11:object=my app", "malformed", "%20"), ("pkcs11:object=a%2", "malformed", "%20"),
        ("pkcs11:object=app;type=cert", "not a private key", "type=private"),
        ("pkcs11:token=work", "without object and id", "label"),
        ("pkcs11:object=" + String(repeating: "a", count: 1100), "1024 bytes", nil),
    ])
    func `a malformed URI, or a URI with a password, is rejected without its values`(
        text: String, found: String, hint: String?
    ) throws {
        let error = try #require(throws: CertificateError.self) { try DeviceKey(text) }
        #expect(error.part == (hint == "set password" ? .password : .key) && error.found.contains(found), "\(error)")
        #expect(hint.map { error.hint?.description.contains($0) == true } ?? (error.hint == nil), "\(error)")
        let shown = error.found + (error.hint?.description ?? "")
        #expect(!shown.contains("8231") && !shown.contains("evil"))
    }

    @Test func `a JWT with a signature of the caller is valid`() throws {
        let key = try JWK.generate(for: .ps256)
        let text = try JWT.sign(["sub": "ada"], algorithm: .ps256, header: ["typ": "JWT"]) {
            try key.signature(of: $0, using: .ps256)
        }
        #expect(text == text.filter { $0 != "=" })
        let token = try JWT(parsing: text)
        #expect(token.header["alg"] == "PS256" && token.header["typ"] == "JWT")
        #expect(try token.verified(with: key, algorithms: [.ps256]).claims.members["sub"] == "ada")
    }

    #if !canImport(CryptoKit)
        // Without the provider, without the token, and with any other token, the device has no such key.
        @Test func `a key that no device has is an error of the key, and has no password`() throws {
            let uri = "pkcs11:token=lodge-no-such-token;object=none"
            let key = try #require(try DeviceKey(uri, password: Secret("82317731")))
            let error = try #require(throws: CertificateError.self) {
                try CertificateIdentity(pem: SampleCertificate.bytes("app-certificate.pem"), key: key)
            }
            #expect(error.part == .key && error.hint != nil, "\(error)")
            #expect(!"\(error)".contains("82317731"))
        }
    #endif
}
