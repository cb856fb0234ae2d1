import OAuth2Protocol
import LodgePlatform
import StrictJSON

/// The tokens of a sign-in at a policy of Azure AD B2C that is not the account's own.
///
/// B2C binds a refresh token to the policy that issued it, so each policy has its own tokens. The account keeps its
/// policy, because a user who edits the profile does not sign in again.
struct PolicySignIn: Codable, Sendable, Equatable {
    var issuer: String?
    var clientID: String
    var tokenOrigin: String?
    var tokens: TokenSet
    var grant: Scope?
    var additionalTokens: AdditionalTokens?
    var senderKey: Secret?
    var signInNeeded: Account.SignInReason?
}

extension AccountRecord {
    /// The key of the authority's default policy in ``policySignIns``. That policy has no name.
    private static let ownPolicy = ""

    /// Swaps the main tokens of the record and the tokens of another policy. Returns `false` if the record has no
    /// tokens of that policy.
    ///
    /// Afterwards the record looks like an account with this policy, so that the same code refreshes all tokens.
    mutating func select(policy: String?) -> Bool {
        if policy == self.policy { return true }
        var others = policySignIns ?? [:]
        guard let other = others.removeValue(forKey: policy ?? Self.ownPolicy) else { return false }
        others[self.policy ?? Self.ownPolicy] = policySignIn
        policySignIns = others
        policySignIn = other
        self.policy = policy
        return true
    }

    /// The tokens of the record with the fields that belong to them.
    private(set) var policySignIn: PolicySignIn {
        get {
            PolicySignIn(
                issuer: issuer, clientID: clientID, tokenOrigin: tokenOrigin, tokens: tokens, grant: grant,
                additionalTokens: additionalTokens, senderKey: senderKey, signInNeeded: signInNeeded)
        }
        set {
            issuer = newValue.issuer
            clientID = newValue.clientID
            tokenOrigin = newValue.tokenOrigin
            tokens = newValue.tokens
            grant = newValue.grant
            additionalTokens = newValue.additionalTokens
            senderKey = newValue.senderKey
            signInNeeded = newValue.signInNeeded
        }
    }

    /// Saves a sign-in at a policy that is not the account's own.
    mutating func add(_ signIn: PolicySignIn, policy: String) {
        var signIn = signIn
        // A policy that only changes the profile can issue no refresh token. The previous one remains then.
        if signIn.tokens.refreshToken == nil, let previous = policySignIns?[policy], previous.signInNeeded == nil,
            previous.tokens.refreshToken != nil
        {
            signIn = previous
        }
        var others = policySignIns ?? [:]
        others[policy] = signIn
        policySignIns = others
    }

    /// Saves the tokens of the account's policy before a sign-in at the authority's default policy replaces them.
    mutating func keepPolicySignIn() {
        guard let policy else { return }
        var others = policySignIns ?? [:]
        others[policy] = policySignIn
        policySignIns = others
    }

    /// The claims that describe a sign-in rather than the user. `tfp` and `acr` are the policy.
    private static let signInClaims: Set<String> = [
        "iss", "aud", "azp", "exp", "iat", "nbf", "auth_time", "nonce", "at_hash", "c_hash", "acr", "amr", "tfp", "ver",
        "sid", "sub",
    ]

    /// Updates the claims about the user from the ID token of another policy.
    mutating func replaceProfile(with new: JSONObject) {
        var merged = claims ?? [:]
        for member in new.members where !Self.signInClaims.contains(member.name) { merged[member.name] = member.value }
        claims = merged
    }
}
