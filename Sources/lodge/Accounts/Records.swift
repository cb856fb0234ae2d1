import CommandLineKit
import LodgePlatform
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

/// An account in lists and in `status`.
struct AccountRecord: OutputRecord {
    let account: Account
    let isActive: Bool
    let now: Date
    /// The application and its tenant, for an account without a user.
    let application: String?

    init(_ account: Account, isActive: Bool, in store: AccountStore) {
        self.account = account
        self.isActive = isActive
        now = store.dependencies.now()
        application = account.isClient ? Self.application(account, store.settings[account.type]) : nil
    }

    /// Returns an application with its tenant, its platform or its user.
    private static func application(_ account: Account, _ type: AccountType?) -> String {
        let name = account.userName ?? account.id.rawValue
        if let source = account.managedIdentitySource {
            return account.hasUser ? "user of \(source)" : "managed identity \(name) of \(source)"
        }
        if let subject = account.subject { return "application \(name) for \(subject)" }
        return "application \(name)" + (type?.tenant.map { " in \($0)" } ?? "")
    }

    static let listColumns = [
        TableColumn(""), TableColumn("ACCOUNT", .keep), TableColumn("NAME"), TableColumn("TYPE"),
        TableColumn("STATE", .keep),
    ]

    var cells: [String] { [isActive ? "*" : "", account.label, name, account.type, state] }

    /// The name of the user. A label replaces the user name in the first column, so it follows here.
    private var name: String {
        if let application { return application }
        let name = account.displayName ?? ""
        guard account.nickname != nil, let userName = account.userName else { return name }
        return name.isEmpty ? userName : "\(name) (\(userName))"
    }

    var state: String {
        switch reason {
        case nil: "signed in"
        case .grantGone?: "sign-in needed (refresh token rejected)"
        case .answerLost?: "sign-in needed (new tokens lost)"
        case .noRefreshToken?: "sign-in needed (no refresh token)"
        case .interactionRequired?: "sign-in needed (provider requires the user)"
        case .scopeNotGranted?: "sign-in needed (permission not granted)"
        }
    }

    var needsSignIn: Bool { reason != nil }

    private var reason: Account.SignInReason? { account.signInReason(at: now) }

    var expiry: String {
        account.accessTokenExpiry.map { "\($0.rfc3339), \(TimeText.expiry($0, now: now))" } ?? "unknown"
    }

    var detail: Detail {
        var detail = Detail()
        detail.add("Account", account.label)
        if account.nickname != nil { detail.add("Signs in as", account.userName) }
        detail.add("Name", application ?? account.displayName)
        detail.add("Type", account.type)
        detail.add("State", state)
        detail.add("Issuer", account.issuer)
        detail.add("Subject", account.subject)
        detail.add("Token", Secret.mask)
        detail.add("Scope", account.scope.text)
        detail.add("Expiry", expiry)
        detail.add("Refreshable", account.canRefresh ? "yes" : "no")
        detail.add("Signed in", account.created.rfc3339)
        detail.add("Id", account.id.rawValue)
        return detail
    }

    static let shape = JSONShape.object([
        "id": "", "type": "account type", "active": "Boolean", "label": "name for --account, or null",
        "userName": "", "displayName": "", "application": "an application with its tenant or platform, or null",
        "issuer": "",
        "subject": "", "scopes": "array",
        "expires": "of the access token, RFC 3339 or null", "refreshable": "Boolean",
        "signInNeeded": "reason, or null",
    ])

    var json: JSONValue {
        var object: JSONObject = [
            "id": .string(account.id.rawValue), "type": .string(account.type), "active": .bool(isActive),
            "label": account.nickname.map { .string($0) } ?? .null,
            "userName": account.userName.map { .string($0) } ?? .null,
            "displayName": account.displayName.map { .string($0) } ?? .null,
            "application": application.map { .string($0) } ?? .null,
            "issuer": account.issuer.map { .string($0) } ?? .null,
            "subject": account.subject.map { .string($0) } ?? .null,
            "scopes": .array(account.scope.tokens.map { .string($0) }),
        ]
        object.append("expires", account.accessTokenExpiry.map { .string($0.rfc3339) } ?? .null)
        object.append("refreshable", .bool(account.canRefresh))
        object.append("signInNeeded", account.signInNeeded.map { .string($0.rawValue) } ?? .null)
        return .object(object)
    }
}
