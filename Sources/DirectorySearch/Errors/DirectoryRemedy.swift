import LodgePlatform

/// A remedy for a problem of a directory or of an offline copy.
public enum DirectoryRemedy: SuggestedAction {
    /// Search for at least one letter of a name.
    case enterText
    /// Change the query.
    case changeQuery
    /// Correct the directory's URL in the settings.
    case correctURL
    /// Check the directory's URL in the settings.
    case checkURL
    /// Check the directory's URL in the settings, or log in to the network, for example in a hotel.
    case checkNetwork
    /// Sign in again, with the claims that the directory requires: a JSON object.
    case signIn(claims: String?)
    /// Ask an administrator to grant one of these permissions, then sign in again.
    case askAdministrator(permissions: [String])
    /// Ask an administrator to grant one of these permissions to the application, then get a new access token.
    case grantToApplication(permissions: [String])
    /// Ask an administrator to allow the application one of these scopes, then get a new access token.
    case allowScopes([String])
    /// Ask an administrator to add one of these scopes to the domain-wide delegation of the service account, then get a new
    /// access token.
    case delegateScopes([String])
    /// Check the spelling of the name and the selected directory.
    case checkName
    /// Retry at this time; `nil` if the directory does not return one.
    case retry(at: Date?)
    /// Check the directory's URL, or allow more users in ``DirectorySync``.
    case raiseLimit(users: Int)
    /// Start the search again.
    case startAgain
    /// Run ``DirectorySync/run(_:)``, or search the directory instead.
    case sync
    /// Search the directory instead of its copy.
    case searchDirectory
    /// Remove the copy with ``OfflineIndex/forget(account:in:)`` and sync again. The directory still has all users.
    case replaceCopy
    /// Use a store in a folder of the user.
    case chooseOwnStore
    /// Free disk space, or use a store in another folder.
    case makeRoom

    /// The name of the action.
    public var description: String {
        switch self {
        case .enterText: "enter at least one letter of a name"
        case .changeQuery: "change the query"
        case .correctURL: "correct the directory's address in the settings"
        case .checkURL: "check the directory's address in the settings"
        case .checkNetwork: "check the directory's address in the settings, and whether the network asks for a sign-in"
        case .signIn: "sign in again"
        case .askAdministrator(let permissions):
            permissions.isEmpty
                ? "ask an administrator of the directory"
                : "ask an administrator to grant \(permissions.joined(separator: " or ")), then sign in with it"
        case .grantToApplication(let permissions):
            permissions.isEmpty
                ? "ask an administrator of the directory"
                : "ask an administrator to grant the application permission \(permissions.joined(separator: " or "))"
        case .allowScopes(let scopes):
            scopes.isEmpty
                ? "ask an administrator to allow the application to read the directory"
                : "ask an administrator to allow the application the scope \(scopes.joined(separator: " or "))"
        case .delegateScopes(let scopes):
            scopes.isEmpty
                ? "ask an administrator of the directory"
                : "ask an administrator to add the scope \(scopes.joined(separator: " or ")) to the domain-wide delegation of "
                    + "the service account, and check that its subject in the settings is an administrator"
        case .checkName: "check the spelling, and that it is the right directory"
        case .retry(let date): date.map { "retry at \($0.rfc3339)" } ?? "retry later"
        case .raiseLimit(let users): "check the directory's address in the settings, or allow more than \(users) users"
        case .startAgain: "start again from the beginning"
        case .sync: "update the offline copy"
        case .searchDirectory: "search the directory"
        case .replaceCopy: "remove the offline copy and sync again"
        case .chooseOwnStore: "choose a folder that you own for the store"
        case .makeRoom: "make room or choose another folder for the store"
        }
    }
}
