import StoreTestSupport

@testable import OAuth2AccountStore

extension TestStore {
    /// Returns the saved tokens.
    func savedTokens(_ id: Account.ID) async throws -> TokenSet? {
        guard let sealed = try await store.storage.record(id.rawValue) else { return nil }
        return store.repository.seal.open(sealed)?.tokens
    }
}
