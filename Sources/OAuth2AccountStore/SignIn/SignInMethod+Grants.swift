import Platform
import OAuth2Protocol

/// What the person needs to sign in on another device.
///
/// [RFC 8628 section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2)
public struct DeviceCodePrompt: Sendable, Equatable {
    /// The code to type. The provider's text: make control characters visible before showing it.
    public let userCode: String
    /// The address to visit.
    public let verificationURI: URL
    /// The same with the code in it. Show the code all the same, for the person to compare (section 3.3.1).
    public let verificationURIComplete: URL?
    /// The lifetime of the code.
    public let expiresIn: Duration

    init(_ authorization: DeviceAuthorization) {
        userCode = authorization.userCode
        verificationURI = authorization.verificationURI
        verificationURIComplete = authorization.verificationURIComplete
        expiresIn = .seconds(authorization.expiresIn)
    }
}

extension SignInMethod {
    /// Another device, where there is no browser here (RFC 8628).
    ///
    /// - Parameter show: shows address and code, and returns; then the store asks the provider until the person is done. It is
    ///   called once: a code that expired is not replaced unasked.
    public static func device(show: @escaping @Sendable (DeviceCodePrompt) async throws -> Void) -> SignInMethod {
        SignInMethod(kind: .device(show))
    }

    /// Any browser, from which the person copies the answer: for redirect URIs that lead nowhere on this machine.
    ///
    /// - Parameter read: shows the address, and gives what the person copied: the whole address at which the browser ended; or,
    ///   where the redirect URI is `urn:ietf:wg:oauth:2.0:oob`, the code that the provider showed. Out-of-band codes are legacy,
    ///   and switched off at most providers.
    public static func paste(reading read: @escaping @Sendable (URL) async throws -> String) -> SignInMethod {
        SignInMethod(kind: .paste(read))
    }

    /// The client itself, without a person. For confidential clients only (RFC 6749 section 4.4).
    ///
    /// Scope tokens that concern a person, such as `openid` and `offline_access`, are left out. There is no refresh token: when
    /// the access token expires, the store asks for another by itself.
    public static let clientCredentials = SignInMethod(kind: .clientCredentials)

    /// A person's name and password. Legacy: the program sees the password, no second factor is possible, and current practice
    /// forbids it (RFC 9700 section 2.4). Only where the type's settings have `allowsPasswordGrant`. The password is not kept.
    public static func password(_ username: String, _ password: Secret) -> SignInMethod {
        SignInMethod(kind: .password(username, password))
    }

    /// A JWT that another party signed about the person or the client (RFC 7523 section 2.1). It is not kept.
    public static func jwtBearer(_ assertion: Secret) -> SignInMethod {
        SignInMethod(kind: .assertion(.jwtBearer(assertion, scope: nil)))
    }

    /// A SAML 2.0 assertion, as XML (RFC 7522 section 2.1). It is not kept.
    public static func samlBearer(_ assertion: Secret) -> SignInMethod {
        SignInMethod(kind: .assertion(.samlBearer(assertion, scope: nil)))
    }
}
