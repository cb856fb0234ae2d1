import OAuth2AccountStore
import LodgePlatform

/// The way to get a refresh token from a provider that issued none.
///
/// The same sign-in would have the same result: without `offline_access` the provider issues none, and with it some
/// providers issue one only after a new consent (OpenID Connect Core 1.0 section 11).
enum RefreshTokenAdvice {
    /// Returns the sign-in that requests consent.
    static func signIn(to type: String) -> Hint { "\(run: "sign-in") \(type) --prompt consent" }

    /// Returns the next step for an account of a type, or `nil` if the type does not use OpenID Connect.
    static func hint(for type: AccountType) -> Hint? {
        if type.provider == .staticToken { return "\(AccountRemedy.supplyToken(type: type.name))" }
        guard type.scope.contains("openid") else { return nil }
        guard type.scope.contains("offline_access") else {
            return
                "add offline_access to scopes of \(type.name) in the settings, and then: \(run: "sign-in") \(type.name)"
        }
        return signIn(to: type.name)
    }
}
