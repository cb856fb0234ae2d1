import Foundation
import Testing

@testable import ProviderSettings
import Platform

private func type(_ members: String) throws -> AccountType? {
    let text = """
        {"types": {"a": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "http://127.0.0.1/callback",
        "scopes": ["openid"]\(members)}}}
        """
    return try Settings(bytes: Array(text.utf8), source: "s.json")["a"]
}

@Test func `the settings say what the directory of a type speaks, and where it is`() throws {
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
