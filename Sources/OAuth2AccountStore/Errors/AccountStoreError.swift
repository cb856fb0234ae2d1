import LodgePlatform
import OAuth2Protocol

/// An error of the store, with its remedy.
public struct AccountStoreError: Error, Sendable {
    /// The kinds of errors.
    public enum Kind: Sendable, Equatable {
        /// The settings have no account type with this name.
        case unknownType
        /// The store has no such account.
        case unknownAccount
        /// Another call or process removed the account during this call.
        case accountRemoved
        /// The user must sign in.
        case signInNeeded(Account.SignInReason)
        /// The user, or the provider, denied access.
        case denied
        /// The user, or the program, cancelled the call.
        case cancelled
        /// A function of the program, such as the function that shows the sign-in page, threw
        /// ``AccountStoreError/underlyingError``.
        case callback
        /// The sign-in did not finish within its time limit.
        case timedOut
        /// The redirect does not belong to this sign-in, or to any sign-in.
        case redirectRefused
        /// The maximum number of sign-ins waits for a redirect: ``AccountStore/maximumPendingSignIns``.
        case tooManySignIns
        /// The provider is unreachable.
        case network
        /// The provider is overloaded or has an internal error.
        case unavailable
        /// The provider's response does not conform to the specification.
        case invalidAnswer
        /// The provider rejected the request, for a reason that a new sign-in does not change.
        case refused
        /// The settings do not match the provider or the call.
        case settings
        /// The storage of the records failed.
        case storage(StorageError.Kind)
        /// The key that seals the records is missing, locked or wrong.
        case key
        /// A record is damaged. It is not changed.
        case damagedRecord
    }

    /// The kinds of remedies.
    public enum Remedy: Sendable, Equatable {
        /// Repeat the call later, after a delay if the provider sent one.
        case retryLater(after: Duration?)
        /// Sign in again.
        case signInAgain
        /// Change the settings.
        case changeSettings
        /// Repair the store or its key.
        case repairStore
        /// Ask the administrator of the organization, or of the provider.
        case askAdministrator
        /// There is no remedy: the call was wrong, or the decision is final.
        case nothing
    }

    /// The kind of the error.
    public var kind: Kind
    /// The task that failed, as a phrase.
    public var what: String
    /// The reason, as a phrase. It can contain the provider's text: escape control characters before you show it.
    public var reason: String
    /// The kind of the remedy.
    public var remedy: Remedy
    /// The next step, if it is more specific than the remedy.
    public var hint: Hint?
    /// The provider's error, if the provider returned one.
    public var provider: ProviderError?
    /// The error of the program's own function, storage or transport, if it caused this error. It can contain secrets,
    /// such as a URL: do not log it.
    public var underlyingError: (any Error)?

    /// Creates an error of the store.
    public init(
        _ kind: Kind, what: String, reason: String, remedy: Remedy, hint: Hint? = nil, provider: ProviderError? = nil,
        underlyingError: (any Error)? = nil
    ) {
        self.kind = kind
        self.what = what
        self.reason = reason
        self.remedy = remedy
        self.hint = hint
        self.provider = provider
        self.underlyingError = underlyingError
    }
}

extension AccountStoreError: Redacted {
    /// The task that failed and the reason, without the underlying error.
    public var description: String { "\(what): \(reason)" }
}

extension AccountStoreError: Equatable {
    /// Returns whether two errors have the same kind, messages, remedy and provider error. Ignores ``underlyingError``.
    public static func == (first: AccountStoreError, second: AccountStoreError) -> Bool {
        first.kind == second.kind && first.what == second.what && first.reason == second.reason
            && first.remedy == second.remedy && first.hint == second.hint && first.provider == second.provider
    }
}

extension AccountStoreError: LocalizedError {
    /// The task that failed in a sentence, for an alert.
    public var errorDescription: String? { what.sentence }
    /// The reason in a sentence. It can contain the provider's text, with control characters escaped.
    public var failureReason: String? { reason.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? {
        if let hint { return hint.description.sentence }
        return switch remedy {
        case .retryLater(let delay?) where delay > .zero: "Try again in \(delay.wholeSeconds) seconds."
        case .retryLater: "Try again later."
        case .signInAgain: "Sign in again."
        case .changeSettings: "Correct the settings."
        case .repairStore: "Check the account storage and its key."
        case .askAdministrator: "Ask the administrator of your organization."
        case .nothing: nil
        }
    }
}
