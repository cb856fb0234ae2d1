import JOSE
import LodgePlatform

/// The applications and secrets of the platform that a ``LoopbackProvider`` simulates: the services of Azure and Google that
/// issue tokens to applications without a secret.
package struct PlatformConfiguration: Sendable {
    /// An identity that the platform manages.
    package struct Identity: Sendable, Equatable {
        package let clientID: String
        package let objectID: String
        package let resourceID: String
    }

    /// The value of `IDENTITY_HEADER` and `MSI_SECRET`.
    package static let header = "local-identity-header"
    /// The identity of the machine itself.
    package static let systemIdentity = Identity(
        clientID: "0e6a1c52-6f0f-4d8e-9b1e-7a6c6f646701", objectID: "0e6a1c52-6f0f-4d8e-9b1e-7a6c6f646702",
        resourceID: "/subscriptions/local/machine")
    /// The identity that an administrator assigned to the machine.
    package static let userIdentity = Identity(
        clientID: "5c1e7d34-2b8a-4f6e-8d21-7a6c6f646703", objectID: "5c1e7d34-2b8a-4f6e-8d21-7a6c6f646704",
        resourceID: "/subscriptions/local/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/a"
    )
    /// The token of another provider that Google's exchange accepts.
    package static let subjectToken = "local-subject-token"
    /// The identity provider at Google.
    package static let audience =
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/local/providers/local"
    /// The service account of the machine, and of an impersonation.
    package static let serviceAccount = "robot@local.iam.gserviceaccount.com"
    /// The scopes that an administrator entered for the domain-wide delegation.
    package static let delegatedScopes: Set<String> = [
        "https://www.googleapis.com/auth/admin.directory.user.readonly",
        "https://www.googleapis.com/auth/admin.directory.group.readonly",
    ]

    /// The file that Azure Arc names in its challenge, and its content.
    package var challenge: (path: String, content: String)?
    /// The public keys of service accounts, by mail address. A key has its identifier.
    package var serviceAccountKeys: [String: JWK] = [:]

    package init() {}
}
