import HTTPTransport
import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How the person is brought to the provider and back.
public struct SignInMethod: Sendable {
    let open: (@Sendable (URL) async throws -> Void)?

    /// The user's browser, which comes back to this machine on a loopback address (RFC 8252).
    public static let browser = SignInMethod(open: nil)

    /// The same, but the address is given to `open`, which shows it in its own way. It may take as long as it likes.
    public static func browser(opening open: @escaping @Sendable (URL) async throws -> Void) -> SignInMethod {
        SignInMethod(open: open)
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
    /// The `claims` parameter, a JSON object.
    public var claims: String?
    /// Further parameters of the authorization request.
    public var parameters: [String: String] = [:]
    /// How long the person has.
    public var timeout: Duration = .seconds(300)

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

extension PreparedSignIn: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Where the person is sent, without the query: who knows the state could finish the sign-in.
    public var description: String { "sign-in at \(url.addressWithoutQuery)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// Where the person is sent, without the query.
    public var customMirror: Mirror { Mirror(self, children: ["sign-in": description]) }
}

/// What the store keeps of a sign-in until its redirect comes.
struct PendingSignIn: Sendable {
    let type: AccountType
    let server: AuthorizationServer
    let authorization: PendingAuthorization
    let expires: Date
}
