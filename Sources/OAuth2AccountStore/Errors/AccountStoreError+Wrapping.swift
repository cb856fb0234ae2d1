import OAuth2Protocol

extension AccountStoreError {
    /// Runs `body`, and converts its errors to errors of the store.
    static func wrappingErrors<Value>(
        _ what: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw wrapping(error, what: what)
        }
    }

    /// Returns the error of a call that the user or the program cancelled.
    package static func cancelled(_ what: String) -> AccountStoreError {
        AccountStoreError(.cancelled, what: what, reason: "the call was cancelled", remedy: .nothing)
    }

    /// Runs `body`, and converts a cancellation to an error of the store. Other errors remain unchanged.
    static func convertingCancellation<Value>(
        _ what: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch is CancellationError {
            throw cancelled(what)
        }
    }

    /// Returns the error of a sign-in for an error that a function of the program threw.
    ///
    /// A cancellation counts as the user's. The web authentication session of the system reports it with its own error
    /// type.
    static func callback(_ error: any Error, what: String) -> AccountStoreError {
        switch error {
        case is AccountStoreError, is CancellationError, is BrowserError: wrapping(error, what: what)
        case _ where WebSessionError.isCancellation(error): cancelled(what)
        default:
            AccountStoreError(
                .callback, what: what, reason: "a function of the program failed with \(type(of: error))",
                remedy: .nothing, underlyingError: error)
        }
    }

    static func unknownAccount(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .unknownAccount, what: "no account \(id)", reason: "the store does not have this account",
            remedy: .signInAgain)
    }

    /// The error of a request without an account.
    static let noAccount = AccountStoreError(
        .unknownAccount, what: "cannot send the request", reason: "there is no account", remedy: .signInAgain)

    /// Returns the error of an application that no sign-in can help: the organization, or the resource, rejects it.
    static func blockedByPolicy(_ what: String, _ provider: ProviderError) -> AccountStoreError {
        AccountStoreError(
            .denied, what: what,
            reason: "blocked by policy: \(provider.meaning ?? provider.explanation ?? provider.code.rawValue)",
            remedy: .askAdministrator,
            hint: "ask an administrator whether the application is disabled or at risk, or may not be used from here",
            provider: provider)
    }

    static func dpopKeyMissing(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .damagedRecord, what: "cannot use account \(id)", reason: "the key that its tokens are bound to is missing",
            remedy: .signInAgain)
    }

    /// Returns the reason of any error, as the store reports it.
    static func reason(of error: any Error) -> String {
        wrapping(error, what: "").reason
    }
}

extension Error {
    /// Whether this is the cancellation of a call, before or after its conversion to an error of the store.
    package var isCancellation: Bool { self is CancellationError || (self as? AccountStoreError)?.kind == .cancelled }
}
