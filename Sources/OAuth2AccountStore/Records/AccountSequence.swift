import SealedStorage

/// An asynchronous sequence of the accounts of a store. It reads one page at a time, because a store can have more
/// accounts than fit in memory.
///
/// Each iteration starts with the first account. An account that is added during the iteration comes last. An account
/// that is removed during the iteration can still be returned. Damaged records are skipped: see
/// ``AccountStore/damagedRecords()``.
public struct AccountSequence: AsyncSequence, Sendable {
    /// The accounts of the store.
    public typealias Element = Account
    let reader: AccountReader
    let type: String?

    /// The iterator of the sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: AccountReader
        let type: String?
        private var page: ArraySlice<Account> = []
        private var last: Int64? = 0

        init(_ sequence: AccountSequence) {
            reader = sequence.reader
            type = sequence.type
        }

        /// Returns the next account, or `nil` after the last one.
        ///
        /// - Throws: ``AccountStoreError``
        public mutating func next() async throws -> Account? {
            while page.isEmpty {
                guard let position = last else { return nil }
                let found = try await AccountStoreError.wrappingErrors("cannot read the accounts") {
                    try await reader.page(ofType: type, after: position)
                }
                page = found.accounts[...]
                last = found.end
            }
            return page.popFirst()
        }
    }

    /// Creates an iterator that starts with the first account.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
