import HTTPTransport
import JOSE
import OAuth2

/// Why the store could not do what it was asked, and what to do about it.
public struct AccountStoreError: Error, Sendable, Equatable {
    /// What kind of failure it is.
    public enum Kind: Sendable, Equatable {
        /// The settings have no type of this name.
        case unknownType
        /// The store has no such account.
        case unknownAccount
        /// The account was removed while something was done with it.
        case accountRemoved
        /// The person has to sign in.
        case signInNeeded(Account.SignInReason)
        /// The person, or the provider, said no.
        case denied
        /// The sign-in was cancelled.
        case cancelled
        /// The sign-in was not finished in time.
        case timedOut
        /// A redirect that belongs to no sign-in, or not to this one.
        case redirectRefused
        /// The provider cannot be reached.
        case network
        /// The provider is overloaded or broken.
        case unavailable
        /// The provider answered what the specification does not allow.
        case invalidAnswer
        /// The provider refused, for a reason that signing in again does not change.
        case refused
        /// The settings do not fit the provider or the call.
        case settings
        /// The store's file.
        case storage(StorageError.Kind)
        /// The key that seals the records.
        case key
        /// A record whose seal is broken. It is left as it is.
        case damagedRecord
    }

    /// What helps.
    public enum Remedy: Sendable, Equatable {
        /// The same call later; after so many seconds, when the provider said.
        case retryLater(after: Int?)
        /// Signing in again.
        case signInAgain
        /// Changing the settings.
        case changeSettings
        /// Mending the store or its key.
        case repairStore
        /// Nothing here: the call was wrong, or it is decided.
        case nothing
    }

    /// The kind.
    public var kind: Kind
    /// What happened, in a few words.
    public var what: String
    /// Why, in a few words. May hold the provider's text: make control characters visible before showing it.
    public var reason: String
    /// What helps.
    public var remedy: Remedy
    /// What to do, when there is more to say than the remedy.
    public var hint: String?
    /// The provider's error, when there is one.
    public var provider: ProviderError?

    /// A failure.
    public init(
        _ kind: Kind, what: String, reason: String, remedy: Remedy, hint: String? = nil, provider: ProviderError? = nil
    ) {
        self.kind = kind
        self.what = what
        self.reason = reason
        self.remedy = remedy
        self.hint = hint
        self.provider = provider
    }
}

extension AccountStoreError: CustomStringConvertible {
    /// What happened and why.
    public var description: String { "\(what): \(reason)" }
}

extension AccountStoreError {
    /// What any failure of a step means to the caller of the store.
    static func wrapping(_ error: any Error, what: String) -> any Error {
        switch error {
        case is CancellationError, is AccountStoreError: error
        case let error as SettingsError:
            AccountStoreError(
                .settings, what: what, reason: error.description, remedy: .changeSettings, hint: error.hint)
        case let error as StorageError:
            AccountStoreError(
                .storage(error.kind), what: what, reason: error.description,
                remedy: error.kind == .busy ? .retryLater(after: nil) : .repairStore, hint: error.hint)
        case let error as KeyCustodyError:
            AccountStoreError(.key, what: what, reason: error.description, remedy: .repairStore, hint: error.hint)
        case let error as HTTPTransportError: transport(error, what)
        case let error as OAuth2Error: step(error, what)
        case let error as IDTokenRejection: step(.idToken(error), what)
        case let error as RedirectRejection: step(.redirect(error), what)
        case let error as BrowserError:
            AccountStoreError(
                .settings, what: "cannot open the browser", reason: error.description, remedy: .changeSettings,
                hint: "set BROWSER to a program that opens addresses, or open the address yourself")
        case let error as JOSEError:
            AccountStoreError(.invalidAnswer, what: what, reason: error.description, remedy: .nothing)
        // An error of somebody else's may hold anything, such as an address with a token in its query.
        default:
            AccountStoreError(.invalidAnswer, what: what, reason: "\(type(of: error))", remedy: .retryLater(after: nil))
        }
    }

    private static func transport(_ error: HTTPTransportError, _ what: String) -> AccountStoreError {
        switch error.kind {
        case .invalidRequest, .plainHTTPRefused:
            AccountStoreError(.settings, what: what, reason: error.description, remedy: .changeSettings)
        case .responseTooLarge, .redirectRefused:
            AccountStoreError(.invalidAnswer, what: what, reason: error.description, remedy: .retryLater(after: nil))
        default:
            AccountStoreError(
                .network, what: what, reason: error.description, remedy: .retryLater(after: nil),
                hint: error.kind == .tls ? "for a private certificate authority name its file with --ca-file" : nil)
        }
    }

    private static func step(_ error: OAuth2Error, _ what: String) -> AccountStoreError {
        switch error {
        case .provider(let provider): return refusal(provider, what)
        case .http(_, let retryAfter):
            if error.isTransient {
                return AccountStoreError(
                    .unavailable, what: what, reason: error.description, remedy: .retryLater(after: retryAfter))
            }
            return AccountStoreError(.refused, what: what, reason: error.description, remedy: .nothing)
        case .invalidResponse, .unsupportedTokenType:
            // A captive portal answers like this too: it passes.
            return AccountStoreError(
                .invalidAnswer, what: what, reason: error.description, remedy: .retryLater(after: nil))
        case .redirect:
            return AccountStoreError(
                .redirectRefused, what: what, reason: error.description, remedy: .nothing,
                hint: "the sign-in goes on waiting for its own redirect")
        case .idToken: return AccountStoreError(.invalidAnswer, what: what, reason: error.description, remedy: .nothing)
        case .configuration:
            return AccountStoreError(.settings, what: what, reason: error.description, remedy: .changeSettings)
        }
    }

    private static func refusal(_ provider: ProviderError, _ what: String) -> AccountStoreError {
        let reason = provider.explanation.map { "\(provider.code.rawValue) (\($0))" } ?? provider.code.rawValue
        func error(_ kind: Kind, _ remedy: Remedy) -> AccountStoreError {
            AccountStoreError(kind, what: what, reason: reason, remedy: remedy, provider: provider)
        }
        // Whatever a broken server says.
        if let status = provider.status, status >= 500 {
            return error(.unavailable, .retryLater(after: provider.retryAfter))
        }
        switch provider.code {
        case .accessDenied: return error(.denied, .nothing)
        case .invalidGrant: return error(.signInNeeded(.grantGone), .signInAgain)
        case let code where code.needsInteraction: return error(.signInNeeded(.interactionRequired), .signInAgain)
        case .invalidClient, .unauthorizedClient, .invalidScope, .unsupportedGrantType:
            return error(.settings, .changeSettings)
        case .slowDown: return error(.unavailable, .retryLater(after: provider.retryAfter ?? provider.interval))
        default:
            if OAuth2Error.provider(provider).isTransient {
                return error(.unavailable, .retryLater(after: provider.retryAfter))
            }
            return error(.refused, .nothing)
        }
    }
}
