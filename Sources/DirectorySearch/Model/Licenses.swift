public import Platform
public import StrictJSON

/// A licence. Every property may be missing.
public struct AssignedLicense: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// Which product.
    public var skuID: UUID? {
        get { identifier("skuId") }
        set { set("skuId", newValue) }
    }

    /// The identifiers of the plans that are off.
    public var disabledPlans: [String] {
        get { texts("disabledPlans") }
        set { set("disabledPlans", newValue) }
    }
}

/// How a licence was assigned. Every property may be missing.
public struct LicenseAssignmentState: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// Which product.
    public var skuID: UUID? {
        get { identifier("skuId") }
        set { set("skuId", newValue) }
    }

    /// The group that brings it; nil when it was assigned directly.
    public var assignedByGroup: String? {
        get { text("assignedByGroup") }
        set { set("assignedByGroup", newValue) }
    }

    /// The identifiers of the plans that are off.
    public var disabledPlans: [String] {
        get { texts("disabledPlans") }
        set { set("disabledPlans", newValue) }
    }

    /// `Active`, `ActiveWithError`, `Disabled` or `Error`.
    public var state: String? {
        get { text("state") }
        set { set("state", newValue) }
    }

    /// What is wrong, such as `CountViolation`; `None` when nothing is.
    public var error: String? {
        get { text("error") }
        set { set("error", newValue) }
    }

    /// When this last changed.
    public var lastUpdatedDateTime: Date? {
        get { date("lastUpdatedDateTime") }
        set { set("lastUpdatedDateTime", newValue) }
    }
}

/// A plan that a licence brings. Every property may be missing.
public struct AssignedPlan: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The service, such as `exchange`.
    public var service: String? {
        get { text("service") }
        set { set("service", newValue) }
    }

    /// Which plan.
    public var servicePlanID: UUID? {
        get { identifier("servicePlanId") }
        set { set("servicePlanId", newValue) }
    }

    /// `Enabled`, `Warning`, `Suspended`, `Deleted` or `LockedOut`.
    public var capabilityStatus: String? {
        get { text("capabilityStatus") }
        set { set("capabilityStatus", newValue) }
    }

    /// When it was assigned.
    public var assignedDateTime: Date? {
        get { date("assignedDateTime") }
        set { set("assignedDateTime", newValue) }
    }
}

/// A plan that is set up. Every property may be missing.
public struct ProvisionedPlan: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The service.
    public var service: String? {
        get { text("service") }
        set { set("service", newValue) }
    }

    /// `Enabled` and the like.
    public var capabilityStatus: String? {
        get { text("capabilityStatus") }
        set { set("capabilityStatus", newValue) }
    }

    /// `Success` and the like.
    public var provisioningStatus: String? {
        get { text("provisioningStatus") }
        set { set("provisioningStatus", newValue) }
    }
}

/// What a service says went wrong. Every property may be missing.
public struct ServiceProvisioningError: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The service.
    public var serviceInstance: String? {
        get { text("serviceInstance") }
        set { set("serviceInstance", newValue) }
    }

    /// Whether it was mended.
    public var isResolved: Bool? {
        get { truth("isResolved") }
        set { set("isResolved", newValue) }
    }

    /// When it went wrong.
    public var createdDateTime: Date? {
        get { date("createdDateTime") }
        set { set("createdDateTime", newValue) }
    }
}
