import StrictJSON
import TestSupport
import Testing

/// The OpenID Foundation's modules for clients: which cases here hold each of them, and which are left out.
struct ConformanceTests {
    /// The vector files by the first letters of their cases.
    static let files = [
        "AR": "authorization-responses", "CA": "client-auth", "DF": "device-flow", "DI": "discovery", "DP": "dpop",
        "IT": "id-token-claims", "LB": "loopback-requests", "OE": "other-endpoints", "PK": "pkce",
        "RB": "request-building", "RS": "refresh-and-store", "SJ": "signed-id-tokens", "TR": "token-responses",
        "UI": "userinfo", "WA": "www-authenticate",
    ]

    /// Modules that no file has cases for, by what their names have in common, and why nothing here answers them.
    static let leftOut = [
        "userinfo-bearer-body": "RFC 6750 section 2.2: the form parameter SHOULD NOT be used",
        "distributed-claims": "OpenID Connect Core 1.0 section 5.6: support for distributed claims is OPTIONAL",
        "discovery-webfinger":
            "OpenID Connect Discovery 1.0 section 2: finding the issuer is optional when it is known",
        "request-uri-signed":
            "OpenID Connect Core 1.0 section 6.2: it needs a server that keeps the object; RFC 9126 replaced it",
        "3rd-party-init-login":
            "OpenID Connect Core 1.0 section 4: the client has no address where a login could begin",
        "backchannel": "OpenID Connect Back-Channel Logout 1.0 section 2: for clients that are servers",
        "frontchannel": "OpenID Connect Front-Channel Logout 1.0 section 2: for clients with pages of their own",
        "session-management":
            "OpenID Connect Session Management 1.0 section 3: for clients that are pages in a browser",
        "openbanking-intent-id": "a claim of one country's banks",
        "ensure-jarm":
            "JARM section 4: a server sends signed answers only to a client that asks for such a response mode",
    ]

    /// No cases, and held by this test.
    static let held = ["oidcc-client-test-aggregated-claims": "IT-078"]

    @Test func `every module is held by cases that are run, or left out for a reason`() throws {
        let modules = try #require(try VectorFile.object("conformance-rp-modules.json")["modules"]?.object).members
        #expect(modules.count == 89)
        var used: Set<String> = []
        for module in modules {
            let named = Self.held[module.name] ?? module.value.object?["vectors"]?.string ?? ""
            if named.isEmpty {
                let reason = Self.leftOut.keys.first { module.name.contains($0) }
                #expect(reason != nil, "\(module.name) is neither held nor left out")
                if let reason { used.insert(reason) }
            }
            for word in named.split(whereSeparator: { ", ".contains($0) }) where word != "Logout" {
                let file = try #require(Self.files[String(word.prefix(2))], "\(module.name): \(word)")
                #expect(VectorFile(file).cases.contains { $0.id.hasPrefix(word.prefix(2)) }, "\(module.name): \(word)")
            }
        }
        #expect(used == Set(Self.leftOut.keys))
    }
}
