import Platform
import OAuth2Protocol

/// An error of the store, with its remedy.
public struct AccountStoreError: Error, Sendable, Equatable {
    /// The kind of an error.
    public enum Kind: Sendable, Equatable {
        /// The settings have no type of this name.
        case unknownType
        /// The store has no such account.
        case unknownAccount
        /// The account was removed during the call.
        case accountRemoved
        /// The user has to sign in.
        case signInNeeded(Account.SignInReason)
        /// The user, or the provider, denied access.
        case denied
        /// The sign-in did not finish in time.
        case timedOut
        /// The redirect does not belong to this sign-in, or to any.
        case redirectRefused
        /// ``AccountStore/maximumPendingSignIns`` sign-ins wait for their redirect.
        case tooManySignIns
        /// The provider is unreachable.
        case network
        /// The provider is overloaded or broken.
        case unavailable
        /// The response does not conform to the specification.
        case invalidAnswer
        /// The provider rejected the request, for a reason that a new sign-in does not change.
        case refused
        /// The settings do not match the provider or the call.
        case settings
        /// The store's file.
        case storage(StorageError.Kind)
        /// The key that seals the records.
        case key
        /// The seal of a record is broken. The record is not changed.
        case damagedRecord
    }

    /// The remedy of an error.
    public enum Remedy: Sendable, Equatable {
        /// Repeat the call later, after so many seconds if the provider sent them.
        case retryLater(after: Int?)
        /// Sign in again.
        case signInAgain
        /// Change the settings.
        case changeSettings
        /// Repair the store or its key.
        case repairStore
        /// Ask the administrator of the organization, or of the provider.
        case askAdministrator
        /// No remedy: the call was wrong, or the decision is final.
        case nothing
    }

    /// The kind.
    public var kind: Kind
    /// The failed task, as a phrase.
    public var what: String
    /// The reason, as a phrase. It can contain the provider's text: escape control characters before you show it.
    public var reason: String
    /// The remedy.
    public var remedy: Remedy
    /// The next step, if the remedy is not specific enough.
    public var hint: Hint?
    /// The provider's error, if there is one.
    public var provider: ProviderError?

    /// Creates an error.
    public init(
        _ kind: Kind, what: String, reason: String, remedy: Remedy, hint: Hint? = nil, provider: ProviderError? = nil
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
    /// The failed task and the reason.
    public var description: String { "\(what): \(reason)" }
}
