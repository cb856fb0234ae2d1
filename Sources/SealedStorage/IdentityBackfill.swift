/// A storage that can contain records without ``SealedRecord/identity``, because an older program saved them.
///
/// Only the store can decrypt them, so the store computes the identities.
package protocol IdentityBackfill: AccountStorage {
    /// Returns the first `limit` records of a type with a greater position and no identity, in order of position.
    func unidentifiedRecords(ofType type: String, after position: Int64, limit: Int) async throws -> [SealedRecord]
    /// Sets identities in one transaction, except for records that another process replaced or removed.
    ///
    /// This is not a change of the accounts: revisions and change log do not change.
    func identify(_ records: [SealedRecord]) async throws
}

/// A storage that can reserve the space for a record and save a small value in the same transaction.
package protocol AtomicValueWrites: AccountStorage {
    /// Combines ``AccountStorage/checkWritable()`` and ``AccountStorage/setValue(_:for:)`` in one write.
    func checkWritable(setting value: [UInt8], for name: String) async throws
}
