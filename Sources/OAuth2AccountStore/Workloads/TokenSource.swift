import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// A source of tokens for an application without a registered client at a token endpoint: the platform on which it runs,
/// or a file of Google.
protocol TokenSource: Sendable {
    /// Requests a token.
    ///
    /// - Parameter resource: The resource of the token: the URL of an API at Azure, scopes at Google.
    /// - Throws: ``AccountStoreError``. None of its errors means that a user must sign in.
    func token(for resource: String) async throws -> TokenResponse
}

/// The application that a source issues tokens for. It identifies the account.
struct Application: Sendable, Equatable {
    /// The source.
    let issuer: String
    /// The application at the source.
    let clientID: String
    /// The user that the application represents.
    var subject: String?
}

extension AccountStoreError {
    /// Returns the error of a source for an error of a step. None of them means that a user must sign in: the account of
    /// an application does not have a user.
    static func source(_ error: any Error, _ what: String, settingsHint: Hint? = nil) -> any Error {
        guard !error.isCancellation else { return error }
        switch error {
        // The store saves these errors for all processes if they are transient.
        case OAuth2Error.http, is HTTPTransportError: return error
        case OAuth2Error.provider(let provider) where provider.disposition == .later: return error
        case OAuth2Error.provider(let provider):
            let said = provider.explanation.map { "\(provider.code.rawValue) (\($0))" } ?? provider.code.rawValue
            return AccountStoreError(
                .settings, what: what, reason: said, remedy: .changeSettings, hint: settingsHint, provider: provider)
        default: return wrapping(error, what: what)
        }
    }
}
