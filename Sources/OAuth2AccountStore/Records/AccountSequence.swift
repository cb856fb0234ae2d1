/// The accounts of a store, read a page at a time: a store may have more of them than memory should hold.
///
/// It begins anew with every loop. An account that is added meanwhile comes last; one that is removed meanwhile may come.
/// Damaged records are left out: see ``AccountStore/damagedRecords()``.
public struct AccountSequence: AsyncSequence, Sendable {
    /// An account.
    public typealias Element = Account
    let store: AccountStore
    let type: String?

    /// Gives the accounts.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let store: AccountStore
        let type: String?
        private var page: ArraySlice<Account> = []
        private var last: Int64? = 0

        init(_ sequence: AccountSequence) {
            store = sequence.store
            type = sequence.type
        }

        /// The next account; nil after the last one.
        ///
        /// - Throws: ``AccountStoreError``
        public mutating func next() async throws -> Account? {
            while page.isEmpty {
                guard let position = last else { return nil }
                let found = try await store.page(ofType: type, after: position)
                page = found.accounts[...]
                last = found.end
            }
            return page.popFirst()
        }
    }

    /// From the first account.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }
}

extension AccountStore {
    /// Every account, or those of one type, in a stable order, read a page at a time.
    public nonisolated func accountSequence(ofType type: String? = nil) -> AccountSequence {
        AccountSequence(store: self, type: type)
    }

    /// A page of accounts, and where the next one begins; nil when there is none.
    func page(ofType type: String?, after position: Int64) async throws -> (accounts: [Account], end: Int64?) {
        try await failing("cannot read the accounts") {
            let page = try await storage.records(ofType: type, after: position, limit: RecordPage.size)
            guard let end = page.last?.position else { return ([], nil) }
            let accounts = page.compactMap { sealed in
                seal.open(sealed).map { Account(record: $0, position: sealed.position) }
            }
            return (accounts, try RecordPage.next(after: position, end, place: storage.place))
        }
    }
}
