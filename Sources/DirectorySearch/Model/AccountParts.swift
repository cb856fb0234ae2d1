import LodgePlatform
import StrictJSON

/// A sign-in identity. Every property can be missing.
public struct ObjectIdentity: GraphObject {
    /// All members, including those without a property here.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The type, such as `userPrincipalName`, `emailAddress` or `federated`.
    public var signInType: String? {
        get { text("signInType") }
        set { set("signInType", newValue) }
    }

    /// The issuer, such as a domain.
    public var issuer: String? {
        get { text("issuer") }
        set { set("issuer", newValue) }
    }

    /// The name of the user at the issuer.
    public var issuerAssignedID: String? {
        get { text("issuerAssignedId") }
        set { set("issuerAssignedId", newValue) }
    }
}

/// The required changes of a password. The service never returns the password. Every property can be missing.
package struct PasswordProfile: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// Whether the user must change it at the next sign-in.
    package var forceChangePasswordNextSignIn: Bool? {
        get { bool("forceChangePasswordNextSignIn") }
        set { set("forceChangePasswordNextSignIn", newValue) }
    }

    /// Whether the user must change it at the next sign-in, after a second factor.
    package var forceChangePasswordNextSignInWithMfa: Bool? {
        get { bool("forceChangePasswordNextSignInWithMfa") }
        set { set("forceChangePasswordNextSignInWithMfa", newValue) }
    }
}

/// The last sign-ins of a user; `nil` for never. Every property can be missing.
public struct SignInActivity: GraphObject {
    /// All members, including those without a property here.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The date of the last interactive sign-in, which may have failed.
    public var lastSignInDateTime: Date? {
        get { date("lastSignInDateTime") }
        set { set("lastSignInDateTime", newValue) }
    }

    /// The date of the last sign-in by a program for the user.
    public var lastNonInteractiveSignInDateTime: Date? {
        get { date("lastNonInteractiveSignInDateTime") }
        set { set("lastNonInteractiveSignInDateTime", newValue) }
    }

    /// The date of the last sign-in that succeeded.
    public var lastSuccessfulSignInDateTime: Date? {
        get { date("lastSuccessfulSignInDateTime") }
        set { set("lastSuccessfulSignInDateTime", newValue) }
    }

    /// The request of the last sign-in.
    public var lastSignInRequestID: String? {
        get { text("lastSignInRequestId") }
        set { set("lastSignInRequestId", newValue) }
    }

    /// The request of the last sign-in by a program.
    public var lastNonInteractiveSignInRequestID: String? {
        get { text("lastNonInteractiveSignInRequestId") }
        set { set("lastNonInteractiveSignInRequestId", newValue) }
    }

    /// The request of the last sign-in that succeeded.
    public var lastSuccessfulSignInRequestID: String? {
        get { text("lastSuccessfulSignInRequestId") }
        set { set("lastSuccessfulSignInRequestId", newValue) }
    }
}

/// Identifiers of certificates. Every property can be missing.
package struct AuthorizationInfo: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The identifiers, such as `X509:<PN>ada@contoso.com`.
    package var certificateUserIDs: [String] {
        get { texts("certificateUserIds") }
        set { set("certificateUserIds", newValue) }
    }
}

/// A synchronization error of an account. Every property can be missing.
package struct OnPremisesProvisioningError: GraphObject {
    /// All members, including those without a property here.
    package var json: JSONObject

    /// Creates an object with these members.
    package init(json: JSONObject) { self.json = json }

    /// The category, such as `PropertyConflict`.
    package var category: String? {
        get { text("category") }
        set { set("category", newValue) }
    }

    /// The property that caused the error.
    package var propertyCausingError: String? {
        get { text("propertyCausingError") }
        set { set("propertyCausingError", newValue) }
    }

    /// The value of the property.
    package var value: String? {
        get { text("value") }
        set { set("value", newValue) }
    }

    /// The date of the error.
    package var occurredDateTime: Date? {
        get { date("occurredDateTime") }
        set { set("occurredDateTime", newValue) }
    }
}
