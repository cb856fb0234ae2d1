import SealedStorage

/// The accounts of a store, read a page at a time: a store may have more of them than memory should hold.
///
/// It begins anew with every loop. An account that is added meanwhile comes last; one that is removed meanwhile may come.
/// Damaged records are left out: see ``AccountStore/damagedRecords()``.
public struct AccountSequence: AsyncSequence, Sendable {
    /// An account.
    public typealias Element = Account
    let reader: AccountReader
    let type: String?

    /// Gives the accounts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let reader: AccountReader
        let type: String?
        private var page: ArraySlice<Account> = []
        private var last: Int64? = 0

        init(_ sequence: AccountSequence) {
            reader = sequence.reader
            type = sequence.type
        }

        /// The next account; nil after the last one.
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

    /// From the first account.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}
