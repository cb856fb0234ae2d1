import OAuth2Protocol

/// What a refusal of a provider asks for.
enum ErrorDisposition: Sendable, Equatable {
    /// The person has to sign in: until then there are no tokens.
    case signIn(Account.SignInReason)
    /// The settings do not fit.
    case settings
    /// It passes.
    case later
    /// The time in what was sent is wrong.
    case clock
    /// Somebody else decides: the organisation's administrator.
    case administrator
    /// The person said no.
    case declined
    /// Nothing that is known here.
    case refused
}

extension ErrorCode {
    /// Codes that say that the grant is gone: those of providers that do not say `invalid_grant`.
    ///
    /// Glewlwyd and Zoho: `invalid_code`; GitHub: `bad_refresh_token`, `bad_verification_code`; Slack: `invalid_refresh_token`,
    /// `token_expired`, `token_revoked`. Some use the codes of RFC 6750 and RFC 8628 for it.
    private static let goneGrants: Set<String> = [
        "invalid_grant", "invalid_code", "bad_refresh_token", "bad_verification_code", "invalid_refresh_token",
        "token_expired", "token_revoked", "expired_token", "invalid_token",
    ]

    /// Codes that say that a person has to act. Auth0: `mfa_required`, `requires_verification`; Google: `invalid_rapt`.
    private static let interactions: Set<String> = [
        "mfa_required", "requires_verification", "invalid_rapt", "insufficient_user_authentication",
        "insufficient_claims", "unmet_authentication_requirements",
    ]

    /// Codes that say that the client, or what it asks for, is registered otherwise. GitHub: `incorrect_client_credentials`,
    /// `redirect_uri_mismatch`; Salesforce: `invalid_client_id`, `invalid_client_credentials`; Slack: `bad_client_secret`,
    /// `bad_redirect_uri`, `invalid_client_id`; Google: `deleted_client`, `disabled_client`.
    private static let registrations: Set<String> = [
        "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type", "invalid_target",
        "unsupported_response_type", "invalid_redirect_uri", "redirect_uri_mismatch", "bad_redirect_uri",
        "incorrect_client_credentials", "invalid_client_id", "invalid_client_credentials", "bad_client_secret",
        "deleted_client", "disabled_client", "invalid_tenant", "invalid_authorization_details", "invalid_resource",
    ]

    /// Codes that say that others decide. GitHub: `application_suspended`; Google: `admin_policy_enforced`, `org_internal`;
    /// Salesforce: `inactive_user`, `inactive_org`; Slack: `account_inactive`.
    private static let decisions: Set<String> = [
        "application_suspended", "admin_policy_enforced", "org_internal", "inactive_user", "inactive_org",
        "account_inactive",
    ]

    /// Codes that say to come back later, in whatever status.
    private static let transientCodes: Set<String> = [
        "server_error", "temporarily_unavailable", "slow_down", "rate_limit_exceeded", "rate_limited", "ratelimited",
        "quota_exceeded", "too_many_attempts", "too_many_requests", "use_dpop_nonce",
    ]

    fileprivate var disposition: ErrorDisposition {
        if Self.transientCodes.contains(rawValue) { return .later }
        if Self.goneGrants.contains(rawValue) { return .signIn(.grantGone) }
        if needsInteraction || Self.interactions.contains(rawValue) { return .signIn(.interactionRequired) }
        if Self.registrations.contains(rawValue) { return .settings }
        if Self.decisions.contains(rawValue) { return .administrator }
        switch self {
        case .accessDenied: return .declined
        case .invalidDPoPProof: return .clock
        default: return .refused
        }
    }
}

extension ProviderError {
    /// Entra's error, when the provider's words begin with a number that is known.
    var entraError: EntraError? { EntraError.number(in: explanation).flatMap(EntraError.error) }

    /// What is to be done. A broken or busy server's word on the grant is not taken: what it says may be wrong.
    var disposition: ErrorDisposition {
        if let status, status >= 500 || status == 429 { return .later }
        if code.isTransient { return .later }
        if let entraError {
            // Of two reasons to sign in the code that asks for the person says more than "gone".
            let isGone =
                entraError.disposition == .signIn(.grantGone) && code.disposition == .signIn(.interactionRequired)
            return isGone ? code.disposition : entraError.disposition
        }
        // X tells with these words alone that a refresh token is not good any more.
        if code == .invalidRequest, explanation == "Value passed for the token was invalid." {
            return .signIn(.grantGone)
        }
        return code.disposition
    }

    /// Why the person has to sign in, when that is what helps. A refresh that is refused so marks the account.
    var signInReason: Account.SignInReason? {
        if case .signIn(let reason) = disposition { return reason }
        return nil
    }

    /// What the provider's number means, with the number; the number alone when it is not known, nil when there is none.
    var meaning: String? {
        EntraError.number(in: explanation).map { number in
            entraError.map { "\($0.meaning) (AADSTS\(number))" } ?? "AADSTS\(number)"
        }
    }
}
