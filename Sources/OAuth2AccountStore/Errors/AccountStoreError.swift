import Platform
import OAuth2Protocol

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
        /// Asking the administrator of the organisation, or of the provider.
        case askAdministrator
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
    public var hint: Hint?
    /// The provider's error, when there is one.
    public var provider: ProviderError?

    /// A failure.
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
    /// What happened and why.
    public var description: String { "\(what): \(reason)" }
}
