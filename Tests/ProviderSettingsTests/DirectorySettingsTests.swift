import Foundation
import Testing

@testable import ProviderSettings
import LodgePlatform

private func type(_ members: String) throws -> AccountType? {
    let text = """
        {"types": {"a": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "http://127.0.0.1/callback",
        "scopes": ["openid"]\(members)}}}
        """
    return try Settings(bytes: Array(text.utf8), source: "s.json").type(named: "a")
}

@Test func `a type names the protocol and the URL of its directory`() throws {
    let graph = try type(#","graphAPI": "https://graph.microsoft.com/""#)
    #expect(graph?.directory == .graph)
    let scim = try type(#","directory": "scim", "directoryBase": "https://id.example/scim/v2""#)
    #expect(scim?.directory == .scim && scim?.graphAPI?.absoluteString == "https://id.example/scim/v2")
    let google = try type(#","directory": "google""#)
    #expect(google?.directory == .google)
    #expect(google?.graphAPI?.absoluteString == "https://admin.googleapis.com/admin/directory/v1")
    let other = try type(#","directory": "google", "directoryBase": "https://proxy.example/v1""#)
    #expect(other?.graphAPI?.host() == "proxy.example")
    #expect(try type(#","directory": "graph""#)?.graphAPI == nil)
}

private func serviceType(_ members: String) throws -> AccountType? {
    try Settings(bytes: Array(#"{"types": {"hr": {\#(members)}}}"#.utf8), source: "s.json").type(named: "hr")
}

@Test(arguments: [
    (#""directory": "scim", "directoryBase": "https://hr.example/scim/v2""#, "hr.example:443"),
    (#""graphAPI": "https://graph.example/", "api-version": "beta""#, "graph.example:443"),
    (#""resourceHosts": ["api.example"], "caFile": "ca.pem""#, "api.example"),
])
func `a type with a service and no provider uses a token that the user supplies`(members: String, host: String) throws {
    let type = try #require(try serviceType(members))
    #expect(type.provider == .staticToken && type.clientID.isEmpty && type.scope.isEmpty && type.endpoints.urls.isEmpty)
    #expect(type.tokenHosts == [host] && type.serviceURL?.host() == host.split(separator: ":").first.map(String.init))
}

@Test(arguments: [
    "", #""directory": "scim""#, #""caFile": "ca.pem""#,
    #""directoryBase": "https://hr.example/scim/v2", "clientId": "c", "redirectUri": "http://127.0.0.1/callback""#,
    #""directoryBase": "https://hr.example/scim/v2", "scopes": ["a"], "redirectUri": "http://127.0.0.1/", "clientId": "c""#,
])
func `a type without a service, or with a client, needs a provider`(members: String) throws {
    let error = #expect(throws: SettingsError.self) { try serviceType(members) }
    #expect(["types.hr.issuer", "types.hr.redirectUri", "types.hr.clientId"].contains(error?.key ?? ""))
}

@Test func `a misspelled issuer with a service is an unknown key, not a type without a provider`() throws {
    let error = #expect(throws: SettingsError.self) {
        try serviceType(#""isuer": "https://id.example", "directoryBase": "https://hr.example/scim/v2""#)
    }
    #expect(error?.key == "types.hr.isuer" && error?.hint?.description == "did you mean issuer?")
}

@Test(arguments: [
    "https://api.example/", "*.example", "", "api.example/path", "api.example:", "user@api.example", "a b",
])
func `a resource host is a host with or without a port`(entry: String) {
    let text = #"""
        {"issuer": "https://id.example", "clientId": "c", "redirectUri": "http://127.0.0.1/cb",
        "scopes": [], "resourceHosts": ["api.example:8443", "[::1]:80", "127.0.0.1", "\#(entry)"]}
        """#
    let settings = try? Settings(bytes: Array(text.utf8), source: "test")
    #expect(settings?.unusableTypes.first?.error.key == "resourceHosts")
    let good = text.replacing(", \"\(entry)\"]", with: "]")
    #expect((try? Settings(bytes: Array(good.utf8), source: "test"))?.types.first?.resourceHosts.count == 3)
}
