import LodgePlatform
import OAuth2Protocol

/// The code and the URL that the user needs to sign in on another device.
///
/// See [RFC 8628 section 3.2](https://www.rfc-editor.org/rfc/rfc8628#section-3.2).
public struct DeviceCodePrompt: Sendable, Equatable {
    /// The code that the user enters. It is the provider's text: escape control characters before you show it.
    public let userCode: String
    /// The URL that the user visits.
    public let verificationURI: URL
    /// The URL that includes the code. Show the code too, so that the user can compare it (section 3.3.1).
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
    /// Signs in on another device, for a machine without a browser (RFC 8628).
    ///
    /// - Parameter show: Shows the URL and the code, and returns. The store then polls the provider until the user has
    ///   finished. It calls the function once: if the code expires, the sign-in throws.
    public static func device(show: @escaping @Sendable (DeviceCodePrompt) async throws -> Void) -> SignInMethod {
        SignInMethod(kind: .device(show))
    }

    /// Signs in with any browser, from which the user copies the redirect. Use it if the redirect URI does not point to
    /// this machine.
    ///
    /// - Parameter read: Shows the URL of the sign-in and returns the text that the user copied. That is the complete
    ///   URL at which the browser ended or, if the redirect URI is `urn:ietf:wg:oauth:2.0:oob`, the code that the
    ///   provider showed. Most providers no longer support such out-of-band codes.
    public static func paste(reading read: @escaping @Sendable (URL) async throws -> String) -> SignInMethod {
        SignInMethod(kind: .paste(read))
    }

    /// Signs in as the client itself, without a user (RFC 6749 section 4.4). Only for confidential clients. If the settings
    /// of the type have another grant for applications, the sign-in uses that grant.
    ///
    /// Without ``SignInOptions/scope``, the request has the scope of the settings without scope tokens that require a
    /// user, such as `openid` and `offline_access`. There is no refresh token: when the access token expires, the store
    /// requests another one automatically.
    public static let clientCredentials = SignInMethod(kind: .clientCredentials)

    /// Signs in with the user's name and password (RFC 6749 section 4.3). The store does not save the password.
    ///
    /// This grant is obsolete, and RFC 9700 section 2.4 forbids it: the program sees the password, and the user cannot
    /// use a second factor. It requires `allowsPasswordGrant` in the settings of the type.
    public static func password(_ username: String, _ password: Secret) -> SignInMethod {
        SignInMethod(kind: .password(username, password))
    }

    /// Signs in with a JWT in which another party identifies the user or the client (RFC 7523 section 2.1). The store
    /// does not save the JWT.
    public static func jwtBearer(_ assertion: Secret) -> SignInMethod {
        SignInMethod(kind: .assertion(.jwtBearer(assertion, scope: nil)))
    }

    /// Signs in with a SAML 2.0 assertion in XML (RFC 7522 section 2.1). The store does not save the assertion.
    public static func samlBearer(_ assertion: Secret) -> SignInMethod {
        SignInMethod(kind: .assertion(.samlBearer(assertion, scope: nil)))
    }
}
