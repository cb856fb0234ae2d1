/// How the client proves who it is at the token endpoint.
///
/// [RFC 6749 section 2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)
public enum ClientAuthentication: Sendable, Equatable {
    /// A public client: only its identifier, in the body.
    case none
    /// HTTP Basic; identifier and secret are form-encoded first, as RFC 6749 section 2.3.1 says.
    case secretBasic(Secret)
    /// HTTP Basic with identifier and secret as they are, for servers that do not decode them.
    case secretBasicRaw(Secret)
    /// Identifier and secret in the body.
    case secretPost(Secret)
}

extension ClientAuthentication {
    /// Whether it puts the client's identifier into the form.
    var namesClientInForm: Bool {
        switch self {
        case .secretBasic, .secretBasicRaw: false
        default: true
        }
    }

    /// The method to use with a secret at a provider that announces these methods.
    ///
    /// A provider that announces nothing takes HTTP Basic (RFC 8414 section 2).
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` when none of them takes a secret.
    public static func secret(_ secret: Secret, announced methods: [String]?) throws(OAuth2Error)
        -> ClientAuthentication
    {
        guard let methods else { return .secretBasic(secret) }
        if methods.contains("client_secret_basic") { return .secretBasic(secret) }
        if methods.contains("client_secret_post") { return .secretPost(secret) }
        throw .configuration(
            "the provider does not take a client secret; it takes " + methods.joined(separator: ", "))
    }
}

/// A client as it is registered with a provider.
public struct Client: Sendable, Equatable {
    /// The client identifier.
    public var id: String
    /// How it authenticates.
    public var authentication: ClientAuthentication

    /// A client; public when no authentication is named.
    public init(id: String, authentication: ClientAuthentication = .none) {
        self.id = id
        self.authentication = authentication
    }
}
