// A program needs no other imports.
import DirectorySearch
import Foundation
import OAuth2AccountStore
import Testing

@Test func `two imports name each type of the API`() throws {
    let object: JSONObject = ["id": "1", "displayName": "Ada Lovelace"]
    let user = User(json: object)
    let name: JSONValue? = user["displayName"]
    #expect(name == "Ada Lovelace")
    let policy: HTTPRetryPolicy = .directory
    let budget: RetryBudget = RetryBudget(policy.totalDelay)
    let scopes: Scope = ["User.Read"]
    #expect(scopes.tokens == ["User.Read"])
    func directory(of account: Account, in store: AccountStore) -> any UserDirectory {
        account.directory(in: store, retry: policy, budget: budget)
    }
    func client(_ transport: any HTTPTransport, at url: URL) throws -> DirectoryClient {
        try DirectoryClient(graphAPI: url, transport: transport) { (_: TokenRequirement) in "token" }
    }
    func part(_ read: @escaping @Sendable (HTTPResponse) throws -> JSONSlice) -> BatchPart<JSONSlice> {
        BatchPart(get: ["me"], read: read)
    }
    func copy(of account: Account.ID, in store: StoreLocation) -> OfflineDirectory {
        OfflineDirectory(account: account, in: store)
    }
    func errors() -> [any Error.Type] { [DirectoryError.self, OfflineIndexError.self, StorageError.self] }
    #expect(errors().count == 3)
    _ = (directory, client, part, copy)
}
