import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings
import LodgePlatform

@Suite struct ProtocolSettingsTests {
    private func type(_ keys: String) throws -> AccountType {
        let text = """
            {"types": {"t": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "http://127.0.0.1/cb", \(keys)}}}
            """
        let settings = try Settings(bytes: Array(text.utf8), source: "test")
        return try #require(try settings.type(named: "t"))
    }

    @Test func `every key is decoded`() throws {
        let type = try type(
            """
            "clientSecret": "s", "clientKey": {"file": "/k.json"}, "clientAuthentication": "private_key_jwt",
            "clientCertificate": {"certificate": "/c.pem", "key": "/k.pem"},
            "clientAssertionAudience": "https://id.example/token", "resources": ["https://api.example"],
            "authorizationDetails": [{"type": "payment"}], "claims": {"id_token": {"acr": null}},
            "quirks": ["commaSeparatedScope"], "pushedAuthorizationRequests": true, "requestObjectSigning": true,
            "dpop": true, "idTokenSigningAlgorithm": "HS256", "userinfoSigningAlgorithm": "ES256",
            "allowsPasswordGrant": true
            """)
        #expect(type.clientAuthentication == .privateKeyJWT && type.clientKey == .file("/k.json"))
        #expect(type.clientAssertionAudience == "https://id.example/token")
        #expect(type.clientCertificate == ClientCertificate(certificateFile: "/c.pem", keyFile: "/k.pem"))
        #expect(type.resources == ["https://api.example"])
        #expect(type.authorizationDetails == [["type": "payment"]])
        #expect(type.claims?["id_token"]?.object?["acr"] == .null)
        #expect(type.quirks == TokenResponse.ResponseQuirks.providers.union(.commaSeparatedScope))
        #expect(type.pushedAuthorizationRequests == true && type.requestObjectSigning && type.dpop)
        #expect(type.idTokenSigningAlgorithm == "HS256" && type.userinfoSigningAlgorithm == "ES256")
        #expect(type.allowsPasswordGrant)
        #expect(try self.type(#""resources": "https://one.example""#).resources == ["https://one.example"])
        #expect(try self.type(#""quirks": ["strict", "scopeLists"]"#).quirks == [.scopeLists])
    }

    @Test func `a missing key means the provider's default`() throws {
        let type = try type(#""scopes": []"#)
        #expect(type.pushedAuthorizationRequests == nil && type.idTokenSigningAlgorithm == nil && !type.dpop)
        #expect(type.quirks == .providers && !type.allowsPasswordGrant && type.clientKey == nil)
    }

    @Test(arguments: [
        (#""clientAuthentication": "client_secret_jwt""#, "clientSecret", "client_secret_jwt"),
        (#""clientAuthentication": "private_key_jwt""#, "clientKey", "private_key_jwt"),
        (#""clientKey": "PRIVATE""#, "clientKey", "a string"),
        (#""clientKey": {"kty": "PRIVATE"}"#, "clientKey", "another key"),
        (#""clientAuthentication": "tls_client_auth""#, "clientCertificate", "tls_client_auth"),
        (#""clientCertificate": "/c.pem""#, "clientCertificate", "certificate"),
        (#""clientCertificate": {"certificate": "/c.pem"}"#, "clientCertificate", "another dictionary"),
        (#""resources": "api""#, "resources", "absolute"),
        (#""resources": ["https://a.example/#f"]"#, "resources", "fragment"),
        (#""resource": "https://a.example""#, "resource", "resources"),
        (#""authorizationDetails": {"type": "x"}"#, "authorizationDetails", "a list"),
        (#""authorizationDetails": [{}]"#, "authorizationDetails", "without"),
        (#""claims": "{}""#, "claims", "a dictionary"),
        (#""quirks": ["comaSeparatedScope"]"#, "quirks", "commaSeparatedScope"),
        (#""quirks": "strict""#, "quirks", "a list"),
        (#""pushedAuthorizationRequests": "yes""#, "pushedAuthorizationRequests", "true or false"),
        (#""requestObjectSigning": true"#, "clientKey", "requestObjectSigning"),
        (#""dpop": 1"#, "dpop", "true or false"),
        (#""idTokenSigningAlgorithm": "none""#, "idTokenSigningAlgorithm", "RS256"),
        (#""idTokenSigningAlgorithm": "HS256""#, "clientSecret", "HS256"),
        (#""allowsPasswordGrant": "true""#, "allowsPasswordGrant", "true or false"),
        (#""allowPasswordGrant": true"#, "allowPasswordGrant", "allowsPasswordGrant"),
    ])
    func `an invalid value is an error that names the key`(keys: String, key: String, says: String) throws {
        let error = try #require(throws: SettingsError.self) { try type(keys) }
        #expect(error.key == "types.t.\(key)", "\(error)")
        #expect("\(error) \(error.hint ?? "")".contains(says), "\(error)")
        #expect(!"\(error)".contains("PRIVATE"))
    }
}
