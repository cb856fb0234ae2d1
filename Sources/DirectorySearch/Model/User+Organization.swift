public import Platform
public import StrictJSON

// MARK: Licences, and what comes from the premises

extension User {
    /// Whether address lists show the person.
    public var showInAddressList: Bool? {
        get { truth("showInAddressList") }
        set { set("showInAddressList", newValue) }
    }

    /// How many devices the person may enrol.
    public var deviceEnrollmentLimit: Int? {
        get { number("deviceEnrollmentLimit") }
        set { set("deviceEnrollmentLimit", newValue) }
    }

    /// The licences.
    public var assignedLicenses: [AssignedLicense] {
        get { parts("assignedLicenses") }
        set { set("assignedLicenses", newValue) }
    }

    /// How each licence was assigned.
    public var licenseAssignmentStates: [LicenseAssignmentState] {
        get { parts("licenseAssignmentStates") }
        set { set("licenseAssignmentStates", newValue) }
    }

    /// The plans that the licences bring.
    public var assignedPlans: [AssignedPlan] {
        get { parts("assignedPlans") }
        set { set("assignedPlans", newValue) }
    }

    /// The plans that are set up.
    public var provisionedPlans: [ProvisionedPlan] {
        get { parts("provisionedPlans") }
        set { set("provisionedPlans", newValue) }
    }

    /// What services say went wrong while they were set up.
    public var serviceProvisioningErrors: [ServiceProvisioningError] {
        get { parts("serviceProvisioningErrors") }
        set { set("serviceProvisioningErrors", newValue) }
    }

    /// Where the data should be kept.
    public var preferredDataLocation: String? {
        get { text("preferredDataLocation") }
        set { set("preferredDataLocation", newValue) }
    }

    /// The security identifier (SID).
    public var securityIdentifier: String? {
        get { text("securityIdentifier") }
        set { set("securityIdentifier", newValue) }
    }

    /// The distinguished name in the directory on premises.
    public var onPremisesDistinguishedName: String? {
        get { text("onPremisesDistinguishedName") }
        set { set("onPremisesDistinguishedName", newValue) }
    }

    /// The DNS domain of the directory on premises.
    public var onPremisesDomainName: String? {
        get { text("onPremisesDomainName") }
        set { set("onPremisesDomainName", newValue) }
    }

    /// The fifteen extension attributes.
    public var onPremisesExtensionAttributes: OnPremisesExtensionAttributes? {
        get { part("onPremisesExtensionAttributes") }
        set { set("onPremisesExtensionAttributes", newValue) }
    }

    /// What ties the account to the one on premises.
    public var onPremisesImmutableID: String? {
        get { text("onPremisesImmutableId") }
        set { set("onPremisesImmutableId", newValue) }
    }

    /// When the account was last synchronized.
    public var onPremisesLastSyncDateTime: Date? {
        get { date("onPremisesLastSyncDateTime") }
        set { set("onPremisesLastSyncDateTime", newValue) }
    }

    /// What went wrong when the account was synchronized.
    public var onPremisesProvisioningErrors: [OnPremisesProvisioningError] {
        get { parts("onPremisesProvisioningErrors") }
        set { set("onPremisesProvisioningErrors", newValue) }
    }

    /// The SAM account name on premises.
    public var onPremisesSamAccountName: String? {
        get { text("onPremisesSamAccountName") }
        set { set("onPremisesSamAccountName", newValue) }
    }

    /// The security identifier (SID) on premises.
    public var onPremisesSecurityIdentifier: String? {
        get { text("onPremisesSecurityIdentifier") }
        set { set("onPremisesSecurityIdentifier", newValue) }
    }

    /// Whether the account comes from a directory on premises; nil when it never did.
    public var onPremisesSyncEnabled: Bool? {
        get { truth("onPremisesSyncEnabled") }
        set { set("onPremisesSyncEnabled", newValue) }
    }

    /// The sign-in name on premises.
    public var onPremisesUserPrincipalName: String? {
        get { text("onPremisesUserPrincipalName") }
        set { set("onPremisesUserPrincipalName", newValue) }
    }

    /// The attributes that the organization defined, by set. Needs a permission of its own.
    public var customSecurityAttributes: JSONObject? {
        get { object("customSecurityAttributes") }
        set { set("customSecurityAttributes", newValue) }
    }

    /// What the service for printing says of the person.
    public var print: JSONObject? {
        get { object("print") }
        set { set("print", newValue) }
    }
}
