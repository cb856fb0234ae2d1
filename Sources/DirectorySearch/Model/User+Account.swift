import LodgePlatform

// MARK: The account

extension User {
    /// Whether the account is enabled.
    public var accountEnabled: Bool? {
        get { bool("accountEnabled") }
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

    /// The legal age group, from age group and consent.
    public var legalAgeGroupClassification: String? {
        get { text("legalAgeGroupClassification") }
        set { set("legalAgeGroupClassification", newValue) }
    }

    /// The origin: `Invitation`, `LocalAccount`, `EmailVerified` or `SelfServiceSignUp`.
    ///
    /// `nil` for a work or school account.
    public var creationType: String? {
        get { text("creationType") }
        set { set("creationType", newValue) }
    }

    /// The creation date.
    public var createdDateTime: Date? {
        get { date("createdDateTime") }
        set { set("createdDateTime", newValue) }
    }

    /// The deletion date, or `nil` if the account is not deleted.
    public var deletedDateTime: Date? {
        get { date("deletedDateTime") }
        set { set("deletedDateTime", newValue) }
    }

    /// The state of an invited guest: `PendingAcceptance` or `Accepted`.
    public var externalUserState: String? {
        get { text("externalUserState") }
        set { set("externalUserState", newValue) }
    }

    /// The date of the last change of ``externalUserState``.
    public var externalUserStateChangeDateTime: Date? {
        get { date("externalUserStateChangeDateTime") }
        set { set("externalUserStateChangeDateTime", newValue) }
    }

    /// The date of the last change of the password.
    public var lastPasswordChangeDateTime: Date? {
        get { date("lastPasswordChangeDateTime") }
        set { set("lastPasswordChangeDateTime", newValue) }
    }

    /// The date before which all sign-ins are invalid.
    public var signInSessionsValidFromDateTime: Date? {
        get { date("signInSessionsValidFromDateTime") }
        set { set("signInSessionsValidFromDateTime", newValue) }
    }

    /// The last sign-ins. Requires `AuditLog.Read.All` and a premium tenant.
    public var signInActivity: SignInActivity? {
        get { part("signInActivity") }
        set { set("signInActivity", newValue) }
    }

    /// The sign-in identities.
    public var identities: [ObjectIdentity] {
        get { parts("identities") }
        set { set("identities", newValue) }
    }

    /// The identifier of the parent of an agent user.
    public var identityParentID: String? {
        get { text("identityParentId") }
        set { set("identityParentId", newValue) }
    }

    /// The identifiers of certificates for sign-in.
    package var authorizationInfo: AuthorizationInfo? {
        get { part("authorizationInfo") }
        set { set("authorizationInfo", newValue) }
    }

    /// The disabled password rules, separated by commas.
    public var passwordPolicies: String? {
        get { text("passwordPolicies") }
        set { set("passwordPolicies", newValue) }
    }

    /// The required changes of the password.
    package var passwordProfile: PasswordProfile? {
        get { part("passwordProfile") }
        set { set("passwordProfile", newValue) }
    }

    /// Whether the account is a resource such as a room or a device.
    public var isResourceAccount: Bool? {
        get { bool("isResourceAccount") }
        set { set("isResourceAccount", newValue) }
    }

    /// Whether only certain administrators can change the account.
    public var isManagementRestricted: Bool? {
        get { bool("isManagementRestricted") }
        set { set("isManagementRestricted", newValue) }
    }
}
