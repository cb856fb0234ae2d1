import LodgePlatform
import StrictJSON

/// A license. Every property can be missing.
public struct AssignedLicense: GraphObject {
    /// All members, including those without a property here.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The identifier of the product.
    public var skuID: UUID? {
        get { identifier("skuId") }
        set { set("skuId", newValue) }
    }

    /// The identifiers of the disabled plans.
    public var disabledPlans: [String] {
        get { texts("disabledPlans") }
        set { set("disabledPlans", newValue) }
    }
}

/// The assignment of a license. Every property can be missing.
package struct LicenseAssignmentState: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The identifier of the product.
    package var skuID: UUID? {
        get { identifier("skuId") }
        set { set("skuId", newValue) }
    }

    /// The group that assigns the license, or `nil` for a direct assignment.
    package var assignedByGroup: String? {
        get { text("assignedByGroup") }
        set { set("assignedByGroup", newValue) }
    }

    /// The identifiers of the disabled plans.
    package var disabledPlans: [String] {
        get { texts("disabledPlans") }
        set { set("disabledPlans", newValue) }
    }

    /// `Active`, `ActiveWithError`, `Disabled` or `Error`.
    package var state: String? {
        get { text("state") }
        set { set("state", newValue) }
    }

    /// The error, such as `CountViolation`, or `None`.
    package var error: String? {
        get { text("error") }
        set { set("error", newValue) }
    }

    /// The date of the last change.
    package var lastUpdatedDateTime: Date? {
        get { date("lastUpdatedDateTime") }
        set { set("lastUpdatedDateTime", newValue) }
    }
}

/// A plan of a license. Every property can be missing.
package struct AssignedPlan: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The service, such as `exchange`.
    package var service: String? {
        get { text("service") }
        set { set("service", newValue) }
    }

    /// The identifier of the plan.
    package var servicePlanID: UUID? {
        get { identifier("servicePlanId") }
        set { set("servicePlanId", newValue) }
    }

    /// `Enabled`, `Warning`, `Suspended`, `Deleted` or `LockedOut`.
    package var capabilityStatus: String? {
        get { text("capabilityStatus") }
        set { set("capabilityStatus", newValue) }
    }

    /// The date of the assignment.
    package var assignedDateTime: Date? {
        get { date("assignedDateTime") }
        set { set("assignedDateTime", newValue) }
    }
}

/// A provisioned plan. Every property can be missing.
package struct ProvisionedPlan: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The service.
    package var service: String? {
        get { text("service") }
        set { set("service", newValue) }
    }

    /// The status of the license, such as `Enabled`.
    package var capabilityStatus: String? {
        get { text("capabilityStatus") }
        set { set("capabilityStatus", newValue) }
    }

    /// The status of the provisioning, such as `Success`.
    package var provisioningStatus: String? {
        get { text("provisioningStatus") }
        set { set("provisioningStatus", newValue) }
    }
}

/// An error reported by a service. Every property can be missing.
package struct ServiceProvisioningError: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The service.
    package var serviceInstance: String? {
        get { text("serviceInstance") }
        set { set("serviceInstance", newValue) }
    }

    /// Whether the error is fixed.
    package var isResolved: Bool? {
        get { bool("isResolved") }
        set { set("isResolved", newValue) }
    }

    /// The date of the error.
    package var createdDateTime: Date? {
        get { date("createdDateTime") }
        set { set("createdDateTime", newValue) }
    }
}
