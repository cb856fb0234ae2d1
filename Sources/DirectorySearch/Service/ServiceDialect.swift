import HTTPExchange

/// The differences between directories at the level of requests.
///
/// Retries, token refresh, time budget and the token's origin are the same for all.
struct ServiceDialect: Sendable {
    /// The name of the service; `nil` if only its host is known.
    var name: String?
    /// Whether requests have an identifier and the number of the attempt, as Microsoft Graph requires.
    var namesRequests: Bool
    /// Adds the service's own error to the error that results from the status.
    var explain: @Sendable (inout DirectoryError, HTTPResponse) -> Void
    /// Returns the permissions that an application needs in place of the permissions of a user.
    var applicationPermissions: @Sendable ([String]) -> [String] = { $0 }

    /// The form of these permissions.
    var applicationPermission = DirectoryError.ApplicationPermission.scope

    /// Microsoft Graph, whose error is already parsed.
    static let graph = ServiceDialect(
        name: "Microsoft Graph", namesRequests: true, explain: { _, _ in },
        applicationPermissions: { permissions in
            if permissions.contains("GroupMember.Read.All") { return ["GroupMember.Read.All"] }
            // No application permission is only for basic properties in all clouds.
            return permissions.contains { $0.hasPrefix("User.") } ? ["User.Read.All"] : permissions
        }, applicationPermission: .permission)
}
