import Foundation
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings
import LodgePlatform

@Suite struct ApplicationGrantTests {
    private func type(_ text: String) throws -> AccountType {
        let settings = try Settings(bytes: Array("{\"types\": {\"t\": {\(text)}}}".utf8), source: "test")
        return try #require(try settings.type(named: "t"))
    }

    private func failure(_ text: String) -> String {
        do {
            _ = try type(text)
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test func `a type without grant signs in a user`() throws {
        let type = try type(#""issuer": "https://id.example", "clientId": "c", "redirectUri": "http://127.0.0.1/cb""#)
        #expect(type.grant == .authorizationCode && !type.grant.isOfApplication)
    }

    @Test func `client credentials need a client but no redirect`() throws {
        let type = try type(
            #""issuer": "https://id.example", "clientId": "c", "clientSecret": "s", "grant": "clientCredentials", "scopes": ["read"]"#
        )
        #expect(type.grant == .clientCredentials && type.clientID == "c" && type.scope == ["read"])
        #expect(failure(#""issuer": "https://id.example", "grant": "clientCredentials""#).contains("clientId"))
    }

    @Test func `a managed identity needs no client, and requests the scope of the directory`() throws {
        let type = try type(
            #""provider": "entra", "grant": "managedIdentity", "managedIdentity": {"source": "imds", "clientId": "id"}"#
        )
        #expect(type.scope == ["https://graph.microsoft.com/.default"] && type.clientID.isEmpty)
        #expect(type.managedIdentity == ManagedIdentity(source: .imds, identity: .clientID("id")))
        #expect(type.graphAPI?.absoluteString == "https://graph.microsoft.com/")
        let plain = try self.type(#""grant": "managedIdentity", "scopes": ["https://api.example/.default"]"#)
        #expect(plain.provider == .endpoints && plain.managedIdentity == ManagedIdentity())
        let object = try self.type(
            #""provider": "entra", "grant": "managedIdentity", "managedIdentity": {"objectId": "o"}"#)
        #expect(object.managedIdentity?.identity == .objectID("o"))
    }

    @Test func `the preset for workloads needs no tenant for a managed identity`() throws {
        let type = try type(#""provider": "entra-workload", "grant": "managedIdentity""#)
        #expect(type.scope == ["https://graph.microsoft.com/.default"] && type.clientAssertion == nil)
        let client = try self.type(#""provider": "entra-workload", "clientId": "c", "tenant": "contoso.example""#)
        #expect(client.grant == .clientCredentials)
    }

    @Test func `a Google service account requests the scope of the directory`() throws {
        let type = try type(
            #""provider": "google", "grant": "serviceAccount", "serviceAccount": {"file": "key.json", "subject": "admin@example.com"}"#
        )
        #expect(type.googleAccount == AccountType.GoogleAccount(file: "key.json", subject: "admin@example.com"))
        #expect(type.scope == ["https://www.googleapis.com/auth/admin.directory.user.readonly"])
        #expect(type.clientAuthentication == nil && type.authorizationParameters.isEmpty)
        let external = try self.type(
            #""provider": "google", "grant": "externalAccount", "externalAccount": {"file": "e.json", "allowsCommand": true}"#
        )
        #expect(external.googleAccount?.allowsCommand == true && external.googleAccount?.subject == nil)
    }

    @Test func `a preset for users does not add its scopes to an application`() throws {
        let type = try type(
            #""provider": "entra-tenant", "tenant": "contoso.example", "clientId": "c", "clientSecret": "s", "grant": "clientCredentials""#
        )
        #expect(type.scope == ["https://graph.microsoft.com/.default"])
    }

    @Test(arguments: [
        (#""grant": "clientCredential""#, "grant"),
        (#""grant": "clientCredentials", "scopes": ["openid"]"#, "\"openid\", which requires a user"),
        (#""grant": "managedIdentity", "clientId": "x""#, "clientId"),
        (#""grant": "managedIdentity", "clientSecret": "x""#, "clientSecret"),
        (#""grant": "managedIdentity", "clientCapabilities": ["cp1"]"#, "clientCapabilities"),
        (#""grant": "managedIdentity", "scopes": ["User.Read"]"#, "\"User.Read\""),
        (#""grant": "managedIdentity", "scopes": ["https://a/.default", "https://b/.default"]"#, "2 scopes"),
        (#""grant": "managedIdentity", "dpop": true"#, "dpop"),
        (#""grant": "managedIdentity", "managedIdentity": {"clientId": "a", "objectId": "b"}"#, "two of them"),
        (#""grant": "managedIdentity", "managedIdentity": {"source": "imsd"}"#, "source"),
        (#""grant": "managedIdentity", "managedIdentity": {"source": "cloudShell", "clientId": "a"}"#, "only one"),
        (#""grant": "managedIdentity", "managedIdentity": {"source": "machineLearning", "objectId": "a"}"#, "clientId"),
        (#""grant": "managedIdentity", "managedIdentity": {"name": "a"}"#, "managedIdentity.name"),
        (#""grant": "serviceAccount""#, "serviceAccount.file"),
        (#""grant": "serviceAccount", "serviceAccount": {"file": "k", "allowsCommand": true}"#, "allowsCommand"),
        (#""grant": "serviceAccount", "externalAccount": {"file": "k"}"#, "externalAccount"),
        (#""managedIdentity": {"source": "imds"}"#, "managedIdentity"),
    ])
    func `an invalid grant names the key`(_ keys: String, _ expected: String) {
        let own = keys.contains("clientCredentials") ? #""clientId": "c", "clientSecret": "s", "# : ""
        let redirect = keys.hasPrefix(#""managed"#) ? #""clientId": "c", "redirectUri": "http://127.0.0.1/cb", "# : ""
        let message = failure(
            #""authority": "https://login.microsoftonline.com/contoso.example", \#(own)\#(redirect)\#(keys)"#)
        #expect(message.contains(expected))
    }
}
