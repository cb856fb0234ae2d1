/// A storage that may hold records without ``SealedRecord/identity``: those of a time before identities were kept, or saved by an
/// older program that still has the storage open. Only the store can open their seals, so the store fills the identities in.
package protocol IdentityBackfill: AccountStorage {
    /// The first `limit` records of a type with a greater position that have no identity, in order of position.
    func unidentifiedRecords(ofType type: String, after position: Int64, limit: Int) async throws -> [SealedRecord]
    /// Sets identities, in one transaction. It is no change of the accounts: no revision goes up, and the log does not tell. A
    /// record that was replaced or removed meanwhile is left as it is.
    func identify(_ records: [SealedRecord]) async throws
}

/// A storage that can see to the room for a record and keep a small value in the same transaction.
package protocol AtomicValueWrites: AccountStorage {
    /// The same as ``AccountStorage/checkWritable()`` and ``AccountStorage/setValue(_:for:)``, for the price of one.
    func checkWritable(setting value: [UInt8], for name: String) async throws
}
