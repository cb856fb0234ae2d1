import LodgePlatform

/// An action that solves a problem of an account or of its provider.
public enum AccountRemedy: SuggestedAction {
    /// Sign in, with additional parameters of the authorization request.
    case signIn(type: String?, parameters: [Parameter] = [])
    /// Supply a token of this type, which has no provider.
    case supplyToken(type: String)
    /// Remove the account with this identifier.
    case removeAccount(id: String)
    /// Check the metadata of the provider.
    case checkProvider(type: String?)
    /// Specify the file of the certificate authority that issued the certificate.
    case nameCertificateFile
    /// Allow more time.
    case extendTimeLimit

    /// A parameter of the authorization request.
    public struct Parameter: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value. It contains only printable ASCII characters and no single quote.
        public var value: String

        /// Creates a parameter.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The name of the action.
    public var description: String {
        switch self {
        case .signIn(let type, _): "sign in" + (type.map { " to \($0)" } ?? "")
        case .supplyToken(let type): "supply a token of \(type)"
        case .removeAccount(let id): "remove the account \(id)"
        case .checkProvider(let type): "check the provider" + (type.map { " of \($0)" } ?? "")
        case .nameCertificateFile: "specify its certificate file"
        case .extendTimeLimit: "allow more time"
        }
    }
}
