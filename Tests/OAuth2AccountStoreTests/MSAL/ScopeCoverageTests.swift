import Foundation
import OAuth2Protocol
import StoreTestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct ScopeCoverageTests {
    private func missing(
        _ asked: Scope, in granted: Scope, at provider: AccountType.Provider
    ) throws -> [String] {
        var type = try TestStore.type()
        type.provider = provider
        return ScopeCoverage(type).missing(asked, in: granted)
    }

    @Test(
        arguments: [
            (["User.Read"], ["https://graph.microsoft.com/User.Read"], []),
            (["https://graph.microsoft.com/User.Read"], ["User.Read", "profile"], []),
            (["user.read"], ["User.Read"], []),
            (["https://graph.microsoft.us/User.Read"], ["User.Read"], []),
            (["https://vault.azure.net/User.Read"], ["User.Read"], ["https://vault.azure.net/User.Read"]),
            (["api://1/access"], ["access"], ["api://1/access"]),
            (["offline_access", "OpenID", "profile"], [], []),
            (["Mail.Read", "User.Read"], ["User.Read"], ["Mail.Read"]),
        ] as [([String], [String], [String])])
    func `Microsoft scopes are compared in the forms that its responses use`(
        asked: [String], granted: [String], expected: [String]
    ) throws {
        for provider in [
            AccountType.Provider.authority("https://login.microsoftonline.com/common"),
            .issuer("https://login.microsoftonline.com/t/v2.0"), .issuer("https://x.ciamlogin.com/t/v2.0"),
        ] {
            #expect(try missing(Scope(asked), in: Scope(granted), at: provider) == expected)
        }
    }

    @Test(
        arguments: [
            (["Read"], ["read"], ["Read"]),
            (["User.Read"], ["https://graph.microsoft.com/User.Read"], ["User.Read"]),
            (["openid", "profile", "offline_access"], [], []),
            (["email"], ["openid", "https://www.googleapis.com/auth/userinfo.email"], []),
            (["https://www.googleapis.com/auth/userinfo.profile"], [], []),
            (["address"], ["openid"], ["address"]),
        ] as [([String], [String], [String])])
    func `scopes of other providers are compared exactly, except Google's aliases`(
        asked: [String], granted: [String], expected: [String]
    ) throws {
        #expect(
            try missing(Scope(asked), in: Scope(granted), at: .issuer("https://login.microsoftonline.com.evil.example"))
                == expected)
    }
}
