import OAuth2Protocol
import LodgePlatform

extension AccountStore {
    /// Imports the accounts of a file. If the import of one account fails, it imports none.
    ///
    /// The store takes the names of the user from the file and does not verify them. ``Account/claims`` has only
    /// validated claims, and remains empty until the user signs in. The store validates only a token response with an
    /// ID token, like ``add(_:toType:)``. A second import of the same file changes nothing; newer tokens in the store
    /// remain.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - type: The account type of the imported accounts. The default is the type that the file names, or the type
    ///     with the same client.
    /// - Throws: ``AccountStoreError``. The store is unchanged then.
    public func importAccounts(_ file: AccountFile, toType type: String? = nil) async throws -> ImportReport {
        let importer = AccountImporter(context: context, history: history, signIns: signIns, remover: remover)
        return try await AccountStoreError.wrappingErrors("cannot import the accounts") {
            try await importer.importAccounts(file, toType: type)
        }
    }

    /// Returns the accounts with their tokens as unencrypted JSON, to move them to another machine. ``AccountFile``
    /// reads it.
    ///
    /// Anyone who can read the result can use the accounts. It has no validated claims, because an import does not
    /// validate them. It has no accounts of the client itself, because the store requests their tokens again without a
    /// user.
    ///
    /// - Parameter ids: The accounts. The default is all accounts.
    /// - Throws: ``AccountStoreError``, including if a record is damaged, so that no export lacks an account unnoticed.
    public func export(_ ids: [Account.ID]? = nil) async throws -> Secret {
        try await AccountStoreError.wrappingErrors("cannot export the accounts") {
            try await AccountExporter(repository: repository).export(ids)
        }
    }
}
