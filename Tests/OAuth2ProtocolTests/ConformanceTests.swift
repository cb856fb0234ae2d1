import StrictJSON
import TestSupport
import Testing

/// Maps the OpenID Foundation's conformance modules for clients to cases, or to reasons for their omission.
struct ConformanceTests {
    /// The vector files by the first letters of their cases.
    static let files = [
        "AR": "authorization-responses", "CA": "client-auth", "DF": "device-flow", "DI": "discovery", "DP": "dpop",
        "IT": "id-token-claims", "LB": "loopback-requests", "OE": "other-endpoints", "PK": "pkce",
        "RB": "request-building", "RS": "refresh-and-store", "SJ": "signed-id-tokens", "TR": "token-responses",
        "UI": "userinfo", "WA": "www-authenticate",
    ]

    /// The modules without cases, by a part of their names, and the reasons.
    static let leftOut = [
        "userinfo-bearer-body": "RFC 6750 section 2.2: the form parameter SHOULD NOT be used",
        "distributed-claims": "OpenID Connect Core 1.0 section 5.6: support for distributed claims is OPTIONAL",
        "discovery-webfinger":
            "OpenID Connect Discovery 1.0 section 2: discovery of the issuer is optional if it is known",
        "request-uri-signed":
            "OpenID Connect Core 1.0 section 6.2: it requires a server for the object; RFC 9126 replaced it",
        "3rd-party-init-login":
            "OpenID Connect Core 1.0 section 4: the client has no URL for login initiation",
        "backchannel": "OpenID Connect Back-Channel Logout 1.0 section 2: for clients that are servers",
        "frontchannel": "OpenID Connect Front-Channel Logout 1.0 section 2: for clients with web pages",
        "session-management":
            "OpenID Connect Session Management 1.0 section 3: for clients that run in a browser",
        "openbanking-intent-id": "a claim of Open Banking in the UK",
        "ensure-jarm":
            "JARM section 4: a server sends signed responses only if the client requests such a response mode",
    ]

    /// The modules without separate cases, and the case that covers each.
    static let held = ["oidcc-client-test-aggregated-claims": "IT-078"]

    @Test func `each conformance module has cases or a reason for its omission`() throws {
        let modules = try #require(try VectorFile.object("conformance-rp-modules.json")["modules"]?.object).members
        #expect(modules.count == 89)
        var used: Set<String> = []
        for module in modules {
            let named = Self.held[module.name] ?? module.value.object?["vectors"]?.string ?? ""
            if named.isEmpty {
                let reason = Self.leftOut.keys.first { module.name.contains($0) }
                #expect(reason != nil, "\(module.name) has neither a case nor a reason for its omission")
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
