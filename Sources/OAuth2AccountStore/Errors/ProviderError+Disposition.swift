import OAuth2Protocol

/// The class of a provider's error, which decides the remedy.
enum ErrorDisposition: Sendable, Equatable {
    case signIn(Account.SignInReason)
    case settings
    case later
    /// The time in the request is wrong.
    case clock
    case administrator
    /// The user denied consent.
    case declined
    case unknown
}

extension ErrorCode {
    /// Codes for an invalid grant. Glewlwyd and Zoho send `invalid_code`; GitHub `bad_refresh_token` and
    /// `bad_verification_code`; Slack `invalid_refresh_token`, `token_expired` and `token_revoked`. Some providers send
    /// codes of RFC 6750 and RFC 8628.
    private static let goneGrants: Set<String> = [
        "invalid_grant", "invalid_code", "bad_refresh_token", "bad_verification_code", "invalid_refresh_token",
        "token_expired", "token_revoked", "expired_token", "invalid_token",
    ]

    /// Codes for an error that the user must resolve. Auth0 sends `mfa_required` and `requires_verification`; Google
    /// `invalid_rapt`.
    private static let interactions: Set<String> = [
        "mfa_required", "requires_verification", "invalid_rapt", "insufficient_user_authentication",
        "insufficient_claims", "unmet_authentication_requirements",
    ]

    /// Codes for a request that does not match the registration of the client. GitHub sends
    /// `incorrect_client_credentials` and `redirect_uri_mismatch`; Salesforce `invalid_client_id` and
    /// `invalid_client_credentials`; Slack `bad_client_secret`, `bad_redirect_uri` and `invalid_client_id`; Google
    /// `deleted_client` and `disabled_client`.
    private static let registrations: Set<String> = [
        "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type", "invalid_target",
        "unsupported_response_type", "invalid_redirect_uri", "redirect_uri_mismatch", "bad_redirect_uri",
        "incorrect_client_credentials", "invalid_client_id", "invalid_client_credentials", "bad_client_secret",
        "deleted_client", "disabled_client", "invalid_tenant", "invalid_authorization_details", "invalid_resource",
    ]

    /// Codes for a decision of an administrator. GitHub sends `application_suspended`; Google `admin_policy_enforced`
    /// and `org_internal`; Salesforce `inactive_user` and `inactive_org`; Slack `account_inactive`.
    private static let decisions: Set<String> = [
        "application_suspended", "admin_policy_enforced", "org_internal", "inactive_user", "inactive_org",
        "account_inactive",
    ]

    /// Codes for transient errors, with any status.
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
        default: return .unknown
        }
    }
}

extension ProviderError {
    /// Entra's error, if the explanation has a known number.
    var entraError: EntraError? { EntraError.number(in: explanation).flatMap(EntraError.error) }

    /// The class of the error. With status 429 or 5xx it is always transient, because the error code of a failing
    /// server can be wrong.
    var disposition: ErrorDisposition {
        if let status, status >= 500 || status == 429 { return .later }
        if code.isTransient { return .later }
        if let entraError {
            // Entra's numbers can change. A code for the client or the scope never requires a sign-in.
            if case .signIn = entraError.disposition,
                [.invalidClient, .unauthorizedClient, .invalidScope].contains(code)
            {
                return code.disposition
            }
            // If both codes require a sign-in, the code that requires the user is more exact.
            let isGone =
                entraError.disposition == .signIn(.grantGone) && code.disposition == .signIn(.interactionRequired)
            return isGone ? code.disposition : entraError.disposition
        }
        // X reports an invalid refresh token only with this message.
        if code == .invalidRequest, explanation == "Value passed for the token was invalid." {
            return .signIn(.grantGone)
        }
        return code.disposition
    }

    /// The reason to sign in, or `nil` if a sign-in is not the remedy.
    var signInReason: Account.SignInReason? {
        if case .signIn(let reason) = disposition { return reason }
        return nil
    }

    /// The meaning of Entra's number followed by the number, or only the number if it is unknown; `nil` without a
    /// number.
    var meaning: String? {
        EntraError.number(in: explanation).map { number in
            entraError.map { "\($0.meaning) (AADSTS\(number))" } ?? "AADSTS\(number)"
        }
    }
}
