import Foundation
import JOSE
import LodgePlatform
import StrictJSON
import TestSupport
import Testing

@testable import LocalProvider

private let tenant = ProviderConfiguration.tenantID

/// The token endpoint of a tenant for clients with a certificate.
@Suite struct CertificateClientTests {
    private let clock = HandClock()

    /// Returns a provider with the client `app`, and the client `chained` whose certificates an authority issues.
    private func signIn() async throws -> SignIn {
        var app = LocalClient(id: "app", name: "App")
        app.certificates = [try Self.text("app-certificate.pem"), try Self.text("expired.pem")]
        var chained = LocalClient(id: "chained", name: "Chained")
        chained.certificates = [try Self.text("root.pem")]
        let clients = [app, chained]
        return SignIn(
            try await provider { [clock] in
                $0.now = { clock.now() }
                $0.clients += clients
            })
    }

    private static func text(_ name: String) throws -> String {
        String(decoding: try SampleCertificate.bytes(name), as: UTF8.self)
    }

    /// The parts of an assertion that a test changes.
    private struct Assertion {
        var file = "app.pem"
        var client = "app"
        var algorithm = JWSAlgorithm.ps256
        var header: JSONObject = [:]
        var claims: JSONObject = [:]
        var signingFile: String?
    }

    private func send(_ assertion: Assertion, _ signIn: SignIn, as id: String? = nil) async throws -> TokenAnswer {
        let identity = try CertificateIdentity(pem: SampleCertificate.bytes(assertion.file))
        var header: JSONObject = ["typ": "JWT"]
        if assertion.algorithm == .ps256 {
            header["x5t#S256"] = .string(Base64URL.encode(identity.certificate.sha256Thumbprint))
        } else {
            header["x5t"] = .string(Base64URL.encode(identity.certificate.sha1Thumbprint))
        }
        for member in assertion.header.members { header[member.name] = member.value == .null ? nil : member.value }
        var claims: JSONObject = [
            "iss": .string(assertion.client), "sub": .string(assertion.client),
            "aud": .string("\(signIn.provider.issuer.absoluteString)/\(tenant)/oauth2/v2.0/token"),
            "nbf": 1_800_000_000, "exp": 1_800_000_600, "jti": .string(UUID().uuidString),
        ]
        for member in assertion.claims.members { claims[member.name] = member.value == .null ? nil : member.value }
        let key = try assertion.signingFile.map { try CertificateIdentity(pem: SampleCertificate.bytes($0)).key }
        return try await signIn.post(
            "/contoso.example/oauth2/v2.0/token",
            [
                "grant_type": "client_credentials", "client_id": id ?? assertion.client,
                "scope": "https://graph.microsoft.com/.default",
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                "client_assertion": try JWT.sign(
                    claims, with: key ?? identity.key, algorithm: assertion.algorithm, header: header),
            ])
    }

    private func x5c(_ name: String) throws -> JSONValue {
        let identity = try CertificateIdentity(pem: SampleCertificate.bytes(name))
        return .array(identity.chain.map { .string(Data($0.der).base64EncodedString()) })
    }

    @Test(arguments: [JWSAlgorithm.ps256, .rs256])
    func `an assertion with a registered certificate is accepted once`(algorithm: JWSAlgorithm) async throws {
        let signIn = try await signIn()
        let assertion = Assertion(algorithm: algorithm, claims: ["jti": "one"])
        #expect(try await send(assertion, signIn).status == 200)
        let repeated = try await send(assertion, signIn)
        #expect(repeated["error_description"]?.contains("AADSTS50027") == true)
    }

    @Test func `a chain to a registered authority is accepted, with line breaks and a padded thumbprint`() async throws
    {
        let signIn = try await signIn()
        var assertion = Assertion(file: "chain.pem", client: "chained", header: ["x5c": try x5c("chain.pem")])
        #expect(try await send(assertion, signIn).status == 200)
        let identity = try CertificateIdentity(pem: SampleCertificate.bytes("chain.pem"))
        let lines = identity.chain.map {
            JSONValue.string(Data($0.der).base64EncodedString(options: .lineLength64Characters))
        }
        assertion.header["x5c"] = .array(lines)
        assertion.header["x5t#S256"] = .string(Base64URL.encode(identity.certificate.sha256Thumbprint) + "=")
        #expect(try await send(assertion, signIn).status == 200)
        assertion.header["x5c"] = .null
        #expect(try await send(assertion, signIn)["error_description"]?.contains("AADSTS700027") == true)
    }

    @Test func `a rejected assertion has the error number of Entra`() async throws {
        let signIn = try await signIn()
        let rows: [(Assertion, number: Int, code: String)] = [
            (Assertion(header: ["x5t#S256": .null]), 50027, "invalid_request"),
            (Assertion(file: "chain.pem"), 700027, "invalid_client"),
            (Assertion(signingFile: "chain.pem"), 700027, "invalid_client"),
            (Assertion(header: ["x5c": try x5c("chain.pem")]), 700027, "invalid_client"),
            (Assertion(claims: ["sub": "other"]), 700021, "invalid_client"),
            (Assertion(claims: ["iss": "other"]), 700021, "invalid_client"),
            (Assertion(claims: ["aud": "https://id.example/token"]), 700023, "invalid_client"),
            (Assertion(claims: ["nbf": 1_800_000_001]), 700024, "invalid_client"),
            (Assertion(claims: ["exp": 1_800_000_000]), 700024, "invalid_client"),
            (Assertion(claims: ["exp": 1_800_090_001]), 700024, "invalid_client"),
            (Assertion(claims: ["exp": .null]), 700024, "invalid_client"),
            (Assertion(claims: ["jti": .null]), 50027, "invalid_client"),
            (Assertion(file: "expired.pem"), 1000502, "invalid_client"),
        ]
        for (assertion, number, code) in rows {
            let response = try await send(assertion, signIn)
            #expect(response.error == code && (400...401).contains(response.status), "\(assertion) \(response)")
            #expect(response["error_description"]?.hasPrefix("AADSTS\(number):") == true, "\(number) \(response)")
        }
        let unknown = try await send(Assertion(), signIn, as: "unknown")
        #expect(unknown.error == "unauthorized_client")
        #expect(unknown["error_description"]?.hasPrefix("AADSTS700016:") == true)
        let secret = try await signIn.post(
            "/token", ["grant_type": "client_credentials", "client_id": "app", "client_secret": "s"])
        #expect(secret.error == "invalid_client")
    }

    @Test func `the parser of certificates agrees with libcrypto`() throws {
        for file in ["app-certificate.pem", "chain.pem", "root.pem", "expired.pem", "future.pem"] {
            for certificate in X509.certificates(pem: try Self.text(file)) {
                #expect(certificate.key != nil && certificate.notBefore.utf8.count == 14, "\(file)")
                #expect(certificate.isValid(at: "20270115080000") == !["expired.pem", "future.pem"].contains(file))
            }
        }
        let identity = try CertificateIdentity(pem: SampleCertificate.bytes("chain.pem"))
        let chain = X509.certificates(pem: try Self.text("chain.pem"))
        #expect(chain.map(\.der) == identity.chain.map(\.der) && chain[0].key?.publicJSON == identity.key.publicJSON)
        let root = try #require(X509.certificates(pem: Self.text("root.pem")).first)
        #expect(chain[1].issued(chain[0]) && root.issued(chain[1]) && !root.issued(chain[0]) && !chain[0].issued(root))
        #expect(root.isAuthority && chain.map(\.isAuthority) == [false, true])
        let der = root.der
        for count in 0..<der.count { #expect(X509(der: Array(der.prefix(count))) == nil) }
        #expect(X509.certificates(pem: try Self.text("ec.pem")).isEmpty)
    }
}
