public import Platform

// MARK: The account

extension User {
    /// Whether the account is enabled.
    public var accountEnabled: Bool? {
        get { truth("accountEnabled") }
        set { set("accountEnabled", newValue) }
    }

    /// `Member` or `Guest`.
    public var userType: String? {
        get { text("userType") }
        set { set("userType", newValue) }
    }

    /// `Minor`, `NotAdult` or `Adult`.
    public var ageGroup: String? {
        get { text("ageGroup") }
        set { set("ageGroup", newValue) }
    }

    /// `Granted`, `Denied` or `NotRequired`.
    public var consentProvidedForMinor: String? {
        get { text("consentProvidedForMinor") }
        set { set("consentProvidedForMinor", newValue) }
    }

    /// What the law makes of age group and consent.
    public var legalAgeGroupClassification: String? {
        get { text("legalAgeGroupClassification") }
        set { set("legalAgeGroupClassification", newValue) }
    }

    /// How the account came to be: `Invitation`, `LocalAccount`, `EmailVerified`, `SelfServiceSignUp`, or nil for one of work or school.
    public var creationType: String? {
        get { text("creationType") }
        set { set("creationType", newValue) }
    }

    /// When the account was made.
    public var createdDateTime: Date? {
        get { date("createdDateTime") }
        set { set("createdDateTime", newValue) }
    }

    /// When the account was deleted; nil for one that was not.
    public var deletedDateTime: Date? {
        get { date("deletedDateTime") }
        set { set("deletedDateTime", newValue) }
    }

    /// How far an invited guest got: `PendingAcceptance` or `Accepted`.
    public var externalUserState: String? {
        get { text("externalUserState") }
        set { set("externalUserState", newValue) }
    }

    /// When ``externalUserState`` last changed.
    public var externalUserStateChangeDateTime: Date? {
        get { date("externalUserStateChangeDateTime") }
        set { set("externalUserStateChangeDateTime", newValue) }
    }

    /// When the password was last changed.
    public var lastPasswordChangeDateTime: Date? {
        get { date("lastPasswordChangeDateTime") }
        set { set("lastPasswordChangeDateTime", newValue) }
    }

    /// Before this moment every sign-in is void.
    public var signInSessionsValidFromDateTime: Date? {
        get { date("signInSessionsValidFromDateTime") }
        set { set("signInSessionsValidFromDateTime", newValue) }
    }

    /// When the person last signed in. Needs `AuditLog.Read.All` and a premium tenant.
    public var signInActivity: SignInActivity? {
        get { part("signInActivity") }
        set { set("signInActivity", newValue) }
    }

    /// The ways to sign in.
    public var identities: [ObjectIdentity] {
        get { parts("identities") }
        set { set("identities", newValue) }
    }

    /// The identifier of the parent of an agent user.
    public var identityParentID: String? {
        get { text("identityParentId") }
        set { set("identityParentId", newValue) }
    }

    /// Identifiers of the certificates that sign in.
    public var authorizationInfo: AuthorizationInfo? {
        get { part("authorizationInfo") }
        set { set("authorizationInfo", newValue) }
    }

    /// Which password rules are off, by comma.
    public var passwordPolicies: String? {
        get { text("passwordPolicies") }
        set { set("passwordPolicies", newValue) }
    }

    /// Whether the password must be changed.
    public var passwordProfile: PasswordProfile? {
        get { part("passwordProfile") }
        set { set("passwordProfile", newValue) }
    }

    /// Whether this is a room, a device or the like.
    public var isResourceAccount: Bool? {
        get { truth("isResourceAccount") }
        set { set("isResourceAccount", newValue) }
    }

    /// Whether only some administrators may change this account.
    public var isManagementRestricted: Bool? {
        get { truth("isManagementRestricted") }
        set { set("isManagementRestricted", newValue) }
    }
}
