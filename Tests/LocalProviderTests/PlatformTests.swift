import CurlHTTP
import Foundation
import HTTPExchange
import JOSE
import LodgePlatform
import StrictJSON
import Testing

@testable import LocalProvider

/// The stand-ins for the services of Azure and Google, with requests that no client of this package builds.
@Suite struct PlatformTests {
    private static let imds = "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://graph.example"

    private func provider(
        _ change: (inout ProviderConfiguration) -> Void = { _ in }
    ) async throws -> LoopbackProvider {
        var configuration = ProviderConfiguration()
        change(&configuration)
        return try await LoopbackProvider(configuration: configuration)
    }

    private func send(
        _ provider: LoopbackProvider, _ path: String, _ fields: HTTPFields = [:], form: String? = nil,
        json: String? = nil
    ) async throws -> (status: Int, object: JSONObject, fields: HTTPFields) {
        let url = try #require(URL(string: "http://127.0.0.1:\(provider.port)\(path)"))
        var fields = fields
        if form != nil { fields["Content-Type"] = "application/x-www-form-urlencoded" }
        if json != nil { fields["Content-Type"] = "application/json" }
        let body = (form ?? json).map { Data($0.utf8) }
        let response = try await CurlTransport().send(
            HTTPRequest(body == nil ? .get : .post, url, fields: fields, body: body))
        return (response.status, (try? JSONValue(parsing: response.body))?.object ?? [:], response.fields)
    }

    @Test func `the metadata service checks its header field and every parameter`() async throws {
        let provider = try await provider()
        defer { provider.close() }
        let good = try await send(provider, Self.imds, ["Metadata": "true"])
        #expect(
            good.status == 200 && good.object["expires_on"]?.string != nil && good.object["refresh_token"]?.string == ""
        )
        #expect(good.object["client_id"]?.string == PlatformConfiguration.systemIdentity.clientID)
        let bad: [(String, HTTPFields)] = [
            (Self.imds, [:]), (Self.imds, ["Metadata": "True"]),
            (Self.imds, ["Metadata": "true", "X-Forwarded-For": "a"]),
            (Self.imds + "/.default", ["Metadata": "true"]), (Self.imds + "&client_id=unknown", ["Metadata": "true"]),
            (Self.imds + "&mi_res_id=x", ["Metadata": "true"]), (Self.imds + "&resource=x", ["Metadata": "true"]),
            (Self.imds.replacing("2018", with: "2019"), ["Metadata": "true"]),
            (Self.imds, ["Metadata": "true", "Authorization": "Basic x"]),
        ]
        for (path, fields) in bad { #expect(try await send(provider, path, fields).status == 400) }
        let identity = PlatformConfiguration.userIdentity
        for (name, value) in [("client_id", identity.clientID.uppercased()), ("object_id", identity.objectID)] {
            let response = try await send(provider, Self.imds + "&\(name)=\(value)", ["Metadata": "true"])
            #expect(response.object["client_id"]?.string == identity.clientID)
        }
    }

    @Test func `each service of Azure has its own form`() async throws {
        let provider = try await provider { $0.platform.challenge = ("/folder/a.key", "content") }
        defer { provider.close() }
        let header: HTTPFields = ["X-IDENTITY-HEADER": PlatformConfiguration.header]
        let app = try await send(provider, "/msi/token?api-version=2019-08-01&resource=r", header)
        #expect(app.status == 200 && app.object["expires_in"] == nil)
        #expect(try await send(provider, "/msi/token?api-version=2019-08-01&resource=r").object["statusCode"] != nil)
        let shell = try await send(provider, "/cloudshell/oauth2/token", ["Metadata": "true"], form: "resource=r")
        #expect(shell.status == 200)
        let refused = try await send(provider, "/cloudshell/oauth2/token", form: "resource=r")
        #expect(refused.object["error"]?.object?["code"] != nil)
        let learning = "/machinelearning/token?api-version=2017-09-01&resource=r"
        #expect(try await send(provider, learning, ["secret": PlatformConfiguration.header]).status == 200)
        let arc = "/arc/metadata/identity/oauth2/token?api-version=2020-06-01&resource=r"
        let challenge = try await send(provider, arc, ["Metadata": "true"])
        #expect(challenge.status == 401 && challenge.fields["WWW-Authenticate"] == "Basic realm=/folder/a.key")
        #expect(try await send(provider, arc, ["Metadata": "true", "Authorization": "Basic content"]).status == 200)
        #expect(try await send(provider, arc, ["Metadata": "true", "Authorization": "Basic other"]).status == 401)
    }

    @Test func `Google's metadata service requires and sends its header field`() async throws {
        let provider = try await provider()
        defer { provider.close() }
        let path = "/computeMetadata/v1/instance/service-accounts/default/token"
        let good = try await send(
            provider, path + "?scopes=https://a.example/x,https://a.example/y", ["Metadata-Flavor": "Google"])
        #expect(good.status == 200 && good.fields["Metadata-Flavor"] == "Google" && good.object["expires_in"] != nil)
        #expect(try await send(provider, path).status == 403)
        #expect(try await send(provider, path + "?scopes=a b", ["Metadata-Flavor": "Google"]).status == 400)
    }

    @Test func `the exchange and the impersonation check every member`() async throws {
        let provider = try await provider()
        defer { provider.close() }
        let pairs: [(name: String, value: String)] = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("audience", PlatformConfiguration.audience), ("scope", "https://www.googleapis.com/auth/iam"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("subject_token", PlatformConfiguration.subjectToken),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:jwt"),
        ]
        let token = try #require(
            try await send(provider, "/v1/token", form: FormEncoding.encode(pairs)).object["access_token"]?.string)
        for index in pairs.indices {
            var wrong = pairs
            wrong[index].value = "x"
            let response = try await send(provider, "/v1/token", form: FormEncoding.encode(wrong))
            #expect(response.status == (pairs[index].name == "scope" ? 200 : 400))
        }
        let path = "/v1/projects/-/serviceAccounts/\(PlatformConfiguration.serviceAccount):generateAccessToken"
        let json = #"{"delegates": [], "scope": ["https://a.example/x"], "lifetime": "3600s"}"#
        let good = try await send(provider, path, ["Authorization": "Bearer \(token)"], json: json)
        #expect(good.object["accessToken"] != nil && good.object["expireTime"]?.string?.hasSuffix("Z") == true)
        #expect(try await send(provider, path, json: json).status == 401)
        let unknown = #"{"scope": ["https://a.example/x"], "other": 1}"#
        #expect(try await send(provider, path, ["Authorization": "Bearer \(token)"], json: unknown).status == 400)
    }

    @Test func `the token endpoint of Google checks an assertion`() async throws {
        let key = try JWK.generate(for: .rs256, keyID: "k1")
        let mail = "robot@example.iam.gserviceaccount.com"
        let provider = try await provider { $0.platform.serviceAccountKeys = [mail: key] }
        defer { provider.close() }
        let now = Int64(Date().timeIntervalSince1970)
        let user = try #require(provider.user(at: 0))
        let claims: JSONObject = [
            "iss": .string(mail), "scope": "https://www.googleapis.com/auth/admin.directory.user.readonly",
            "aud": "https://oauth2.googleapis.com/token", "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 3600)), "sub": .string(user.userPrincipalName),
        ]
        func error(_ changed: JSONObject = [:], _ header: JSONObject = ["typ": "JWT", "kid": "k1"]) async throws
            -> String?
        {
            var all = claims
            for member in changed.members { all[member.name] = member.value }
            let text = try JWT.sign(all, with: key, algorithm: .rs256, header: header)
            let form = FormEncoding.encode([
                ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", text),
            ])
            return try await send(provider, "/google/token", form: form).object["error"]?.string
        }
        #expect(try await error() == nil)
        #expect(try await error(["aud": .string("http://127.0.0.1:\(provider.port)/google/token")]) == "invalid_grant")
        #expect(try await error(["iat": .number(JSONNumber(now - 4000))]) == "invalid_grant")
        #expect(try await error(["exp": .number(JSONNumber(now + 7200))]) == "invalid_grant")
        #expect(try await error(["sub": "nobody@example.com"]) == "invalid_grant")
        #expect(try await error(["iss": "other@example.com"]) == "invalid_grant")
        #expect(try await error(["scope": "https://www.googleapis.com/auth/drive"]) == "unauthorized_client")
        #expect(try await error([:], ["typ": "JWT", "kid": "k2"]) == "invalid_grant")
    }

    @Test func `every injected error changes the response of the metadata service`() async throws {
        let provider = try await provider()
        defer { provider.close() }
        let statuses: [InjectedErrors.Name: Int] = [
            .metadata400: 400, .metadata404: 404, .metadata410: 410, .metadata429: 429, .metadata500: 500,
            .metadataHTML: 200, .metadataRedirect: 302, .metadataNumber: 200, .metadataOtherIdentity: 200,
        ]
        for (name, status) in statuses {
            provider.setInjectedErrors(InjectedErrors(name))
            let path = Self.imds + "&client_id=\(PlatformConfiguration.userIdentity.clientID)"
            let response = try await send(provider, path, ["Metadata": "true"])
            #expect(response.status == status)
            if name == .metadataNumber { #expect(response.object["expires_on"]?.number != nil) }
            if name == .metadataHTML { #expect(response.object.members.isEmpty) }
            if name == .metadataOtherIdentity {
                #expect(response.object["client_id"]?.string == PlatformConfiguration.systemIdentity.clientID)
            }
        }
    }
}
