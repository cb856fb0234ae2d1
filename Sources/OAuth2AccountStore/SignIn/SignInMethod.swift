import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How an account is signed in.
public struct SignInMethod: Sendable {
    typealias Open = @Sendable (URL) async throws -> Void

    enum Kind: Sendable {
        case browser(Open?)
        case device(@Sendable (DevicePrompt) async throws -> Void)
        case paste(@Sendable (URL) async throws -> String)
        case clientCredentials
        case password(String, Secret)
        case assertion(TokenRequest.Grant)
    }
    let kind: Kind

    /// The user's browser, which comes back to this machine on a loopback address (RFC 8252).
    public static let browser = SignInMethod(kind: .browser(nil))

    /// The same, but the address is given to `open`, which shows it in its own way. It may take as long as it likes.
    public static func browser(opening open: @escaping @Sendable (URL) async throws -> Void) -> SignInMethod {
        SignInMethod(kind: .browser(open))
    }
}

/// What may be said about a sign-in.
public struct SignInOptions: Sendable, Equatable {
    /// What to ask for; nil: the type's scope.
    public var scope: Scope?
    /// Words of OpenID Connect's `prompt`.
    public var prompt: [String] = []
    /// Who is expected to sign in.
    public var loginHint: String?
    /// In whose directory they are, at providers that ask for that (`domain_hint`).
    public var domainHint: String?
    /// The `claims` parameter, a JSON object; nil: the type's.
    public var claims: String?
    /// The greatest age of the person's log-in, in seconds; 0 wants a new one. The ID token is held to it.
    public var maximumAge: Int?
    /// The authentication context classes that are wanted, the best first. The ID token must have one of them.
    public var contextClasses: [String] = []
    /// Further parameters of the authorization request.
    public var parameters: [String: String] = [:]
    /// How long the person has; nil: five minutes with the browser, as long as the codes live with another device.
    public var timeout: Duration?

    /// No options.
    public init() {}
}

/// A sign-in that waits for the person.
public struct PreparedSignIn: Sendable {
    /// Where to send the person.
    public let url: URL
    /// Names this sign-in for ``AccountStore/cancel(_:)``.
    public let id: String
    /// Where the redirect will arrive.
    public let redirectURI: RedirectURI
}

/// What the store keeps of a sign-in until its redirect comes.
struct PendingSignIn: Sendable {
    let connection: ProviderConnection
    let authorization: PendingAuthorization
    /// The key that the tokens will be bound to.
    let senderKey: SigningKey?
    /// The authentication context classes of which the ID token must have one.
    let contextClasses: [String]
    let expires: Date
}
