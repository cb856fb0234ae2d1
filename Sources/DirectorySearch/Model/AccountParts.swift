public import Platform
public import StrictJSON

/// A way to sign in. Every property may be missing.
public struct ObjectIdentity: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// `userPrincipalName`, `emailAddress`, `federated` and the like.
    public var signInType: String? {
        get { text("signInType") }
        set { set("signInType", newValue) }
    }

    /// Who vouches for it, such as a domain.
    public var issuer: String? {
        get { text("issuer") }
        set { set("issuer", newValue) }
    }

    /// The name that the issuer knows the person by.
    public var issuerAssignedID: String? {
        get { text("issuerAssignedId") }
        set { set("issuerAssignedId", newValue) }
    }
}

/// What must happen to a password. The service never gives the password itself. Every property may be missing.
public struct PasswordProfile: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// Whether it must be changed at the next sign-in.
    public var forceChangePasswordNextSignIn: Bool? {
        get { truth("forceChangePasswordNextSignIn") }
        set { set("forceChangePasswordNextSignIn", newValue) }
    }

    /// Whether it must be changed at the next sign-in, after a second factor.
    public var forceChangePasswordNextSignInWithMfa: Bool? {
        get { truth("forceChangePasswordNextSignInWithMfa") }
        set { set("forceChangePasswordNextSignInWithMfa", newValue) }
    }
}

/// When a person last signed in; nil for never. Every property may be missing.
public struct SignInActivity: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The last sign-in with the person there, failed ones too.
    public var lastSignInDateTime: Date? {
        get { date("lastSignInDateTime") }
        set { set("lastSignInDateTime", newValue) }
    }

    /// The last sign-in by a program for the person.
    public var lastNonInteractiveSignInDateTime: Date? {
        get { date("lastNonInteractiveSignInDateTime") }
        set { set("lastNonInteractiveSignInDateTime", newValue) }
    }

    /// The last sign-in that succeeded.
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

/// Identifiers of certificates. Every property may be missing.
public struct AuthorizationInfo: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The identifiers, such as `X509:<PN>ada@contoso.com`.
    public var certificateUserIDs: [String] {
        get { texts("certificateUserIds") }
        set { set("certificateUserIds", newValue) }
    }
}

/// What went wrong when an account was synchronized. Every property may be missing.
public struct OnPremisesProvisioningError: GraphObject {
    /// What the service says, members without a property here included.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// Such as `PropertyConflict`.
    public var category: String? {
        get { text("category") }
        set { set("category", newValue) }
    }

    /// The property that caused it.
    public var propertyCausingError: String? {
        get { text("propertyCausingError") }
        set { set("propertyCausingError", newValue) }
    }

    /// Its value.
    public var value: String? {
        get { text("value") }
        set { set("value", newValue) }
    }

    /// When.
    public var occurredDateTime: Date? {
        get { date("occurredDateTime") }
        set { set("occurredDateTime", newValue) }
    }
}
