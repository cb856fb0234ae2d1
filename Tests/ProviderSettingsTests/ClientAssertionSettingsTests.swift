import Foundation
import Testing

@testable import ProviderSettings
import LodgePlatform

@Suite struct ClientAssertionSettingsTests {
    private func type(_ keys: String) throws -> AccountType {
        let text = """
            {"types": {"t": {"authority": "https://login.microsoftonline.com/contoso.example", "clientId": "c",
                "redirectUri": "http://127.0.0.1/cb", \(keys)}}}
            """
        let settings = try Settings(bytes: Array(text.utf8), source: "test")
        return try #require(try settings.type(named: "t"))
    }

    private func certificate(_ members: String) throws -> CertificateCredential {
        let type = try type(#""clientAssertion": {"certificate": {\#(members)}}"#)
        guard case .certificate(let credential)? = type.clientAssertion else {
            throw CocoaError(.featureUnsupported)
        }
        return credential
    }

    @Test func `the files of a certificate are PEM or PKCS 12`() throws {
        let one = try certificate(#""certificate": "app.pem""#)
        #expect(one.files == .pem(certificate: "app.pem", key: nil))
        #expect(one.password == nil && !one.includesChain && one.algorithm == nil)
        let two = try certificate(#""certificate": "app.pem", "key": "app.key", "algorithm": "RS256""#)
        #expect(two.files == .pem(certificate: "app.pem", key: "app.key") && two.algorithm == .rs256)
        let file = try certificate(
            #""pkcs12": "app.pfx", "password": {"environment": "P"}, "chain": true, "algorithm": "PS256""#)
        #expect(file.files == .pkcs12("app.pfx") && file.password == .environment("P"))
        #expect(file.includesChain && file.algorithm == .ps256)
        #expect(try certificate(#""pkcs12": "app.pfx", "password": """#).password == .inline(Secret("")))
        let method = try type(
            #""clientAuthentication": "private_key_jwt", "clientAssertion": {"certificate": {"pkcs12": "app.pfx"}}"#)
        #expect(method.clientAuthentication == .privateKeyJWT)
    }

    @Test(arguments: ["handle:0x81000001", "pkcs11:token=work;object=app"])
    func `the key of a certificate can be in a TPM or on a PKCS 11 token`(uri: String) throws {
        let credential = try certificate(#""certificate": "app.pem", "key": "\#(uri)""#)
        #expect(credential.files == .pem(certificate: "app.pem", key: uri))
        #expect(try credential.deviceKey()?.uri == uri)
        #expect(try certificate(#""certificate": "app.pem", "key": "app.key""#).deviceKey() == nil)
        #expect(try certificate(#""pkcs12": "app.pfx""#).deviceKey() == nil)
    }

    @Test(arguments: ["pkcs11:object=app?pin-value=8231", "handle:0x81000001?pass"])
    func `the URI of a key has no password`(uri: String) throws {
        let error = try #require(throws: SettingsError.self) {
            try certificate(#""certificate": "app.pem", "key": "\#(uri)""#)
        }
        #expect(error.key == "types.t.clientAssertion.certificate.key")
        #expect(error.hint?.description.contains("password") == true && !"\(error)".contains("8231"), "\(error)")
    }

    @Test(arguments: [
        (#""clientAssertion": "app.pem""#, "clientAssertion", "a string"),
        (#""clientAssertion": {}"#, "clientAssertion", "an empty dictionary"),
        (#""clientAssertion": {"certificat": {}}"#, "clientAssertion.certificat", "an unknown key"),
        (
            #""clientAssertion": {"certificate": {"pkcs12": "a"}, "other": {}}"#, "clientAssertion", "2 members"
        ),
        (#""clientAssertion": {"certificate": "app.pem"}"#, "clientAssertion.certificate", "a string"),
        (#""clientAssertion": {"certificate": {}}"#, "clientAssertion.certificate", "none of the two"),
        (
            #""clientAssertion": {"certificate": {"certificate": "a", "pkcs12": "b"}}"#, "clientAssertion.certificate",
            "both"
        ),
        (
            #""clientAssertion": {"certificate": {"pkcs12": "b", "key": "k"}}"#, "clientAssertion.certificate.key",
            "a key"
        ),
        (
            #""clientAssertion": {"certificate": {"pkcs12": "b", "algorithm": "ES256"}}"#,
            "clientAssertion.certificate.algorithm", #""ES256""#
        ),
        (
            #""clientAssertion": {"certificate": {"pkcs12": "b", "passwort": "hidden"}}"#,
            "clientAssertion.certificate.passwort", "an unknown key"
        ),
        (
            #""clientAssertion": {"certificate": {"pkcs12": "b", "password": {"value": "hidden"}}}"#,
            "clientAssertion.certificate.password", "another key"
        ),
        (#""clientSecret": "s", "clientAssertion": {"certificate": {"pkcs12": "b"}}"#, "clientAssertion", "both"),
        (
            #""clientKey": {"file": "k"}, "clientAssertion": {"certificate": {"pkcs12": "b"}}"#, "clientAssertion",
            "both"
        ),
        (
            #""clientAuthentication": "none", "clientAssertion": {"certificate": {"pkcs12": "b"}}"#,
            "clientAuthentication", "none"
        ),
    ])
    func `an unusable source of assertions is an error that names its key`(
        keys: String, key: String, found: String
    ) throws {
        let error = try #require(throws: SettingsError.self) { try type(keys) }
        #expect(error.key == "types.t.\(key)" && error.found.contains(found), "\(error)")
        let text = "\(error) " + (error.hint?.description ?? "")
        #expect(!text.contains("hidden"))
    }

    @Test func `a key for signed requests can be used with an assertion`() throws {
        let type = try type(
            """
            "clientKey": {"file": "k"}, "requestObjectSigning": true,
            "clientAssertion": {"certificate": {"pkcs12": "b"}}
            """)
        #expect(type.clientKey == .file("k") && type.clientAssertion != nil)
    }

    @Test(arguments: [
        (#""authority": "https://login.microsoftonline.com/contoso.example""#, true, false),
        (#""authority": "https://adfs.contoso.example/adfs""#, true, true),
        (#""issuer": "https://adfs.contoso.example/ADFS/""#, true, true),
        (#""issuer": "https://login.microsoftonline.com/contoso.example/v2.0""#, true, false),
        (#""issuer": "https://id.example/adfsx""#, false, false),
    ])
    func `Microsoft's providers are recognized by the authority or the issuer`(
        provider: String, isMicrosoft: Bool, isADFS: Bool
    ) throws {
        let text = #"{"types": {"t": {\#(provider), "clientId": "c", "redirectUri": "http://127.0.0.1/cb"}}}"#
        let type = try #require(try Settings(bytes: Array(text.utf8), source: "test").type(named: "t"))
        #expect(type.hasMicrosoftAssertions == isMicrosoft && type.isADFS == isADFS)
    }
}
