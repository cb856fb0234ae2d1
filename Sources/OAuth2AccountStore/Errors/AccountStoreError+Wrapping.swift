import OAuth2Protocol

extension AccountStoreError {
    /// Runs `body` and converts its errors to those of the store.
    static func wrappingErrors<Value>(
        _ what: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            throw wrapping(error, what: what)
        }
    }

    static func unknownAccount(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .unknownAccount, what: "no account \(id)", reason: "the store does not have this account",
            remedy: .signInAgain)
    }

    static func dpopKeyMissing(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .damagedRecord, what: "cannot use account \(id)", reason: "the key that its tokens are bound to is missing",
            remedy: .signInAgain)
    }

    /// The reason of any error, as the store reports it.
    static func reason(of error: any Error) -> String {
        let failure = wrapping(error, what: "")
        return (failure as? AccountStoreError)?.reason ?? "\(failure)"
    }
}
