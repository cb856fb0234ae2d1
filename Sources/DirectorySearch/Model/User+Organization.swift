import LodgePlatform
import StrictJSON

// MARK: Licenses, and data from the directory on premises

extension User {
    /// Whether the user is in address lists.
    public var showInAddressList: Bool? {
        get { bool("showInAddressList") }
        set { set("showInAddressList", newValue) }
    }

    /// The maximum number of devices that the user may enroll.
    public var deviceEnrollmentLimit: Int? {
        get { number("deviceEnrollmentLimit") }
        set { set("deviceEnrollmentLimit", newValue) }
    }

    /// The licenses.
    public var assignedLicenses: [AssignedLicense] {
        get { parts("assignedLicenses") }
        set { set("assignedLicenses", newValue) }
    }

    /// The assignment of each license.
    package var licenseAssignmentStates: [LicenseAssignmentState] {
        get { parts("licenseAssignmentStates") }
        set { set("licenseAssignmentStates", newValue) }
    }

    /// The plans of the licenses.
    package var assignedPlans: [AssignedPlan] {
        get { parts("assignedPlans") }
        set { set("assignedPlans", newValue) }
    }

    /// The provisioned plans.
    package var provisionedPlans: [ProvisionedPlan] {
        get { parts("provisionedPlans") }
        set { set("provisionedPlans", newValue) }
    }

    /// The errors of services during provisioning.
    package var serviceProvisioningErrors: [ServiceProvisioningError] {
        get { parts("serviceProvisioningErrors") }
        set { set("serviceProvisioningErrors", newValue) }
    }

    /// The preferred location of the data.
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

    /// The link to the account on premises.
    public var onPremisesImmutableID: String? {
        get { text("onPremisesImmutableId") }
        set { set("onPremisesImmutableId", newValue) }
    }

    /// The date of the last synchronization.
    public var onPremisesLastSyncDateTime: Date? {
        get { date("onPremisesLastSyncDateTime") }
        set { set("onPremisesLastSyncDateTime", newValue) }
    }

    /// The errors of the synchronization.
    package var onPremisesProvisioningErrors: [OnPremisesProvisioningError] {
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

    /// Whether a directory on premises updates the account, or `nil` if it never did.
    public var onPremisesSyncEnabled: Bool? {
        get { bool("onPremisesSyncEnabled") }
        set { set("onPremisesSyncEnabled", newValue) }
    }

    /// The sign-in name on premises.
    public var onPremisesUserPrincipalName: String? {
        get { text("onPremisesUserPrincipalName") }
        set { set("onPremisesUserPrincipalName", newValue) }
    }

    /// The custom attributes of the organization, by set. Requires another permission.
    public var customSecurityAttributes: JSONObject? {
        get { object("customSecurityAttributes") }
        set { set("customSecurityAttributes", newValue) }
    }

    /// The data of the print service.
    public var print: JSONObject? {
        get { object("print") }
        set { set("print", newValue) }
    }
}
