import OAuth2Protocol
import Platform

extension AccountStore {
    /// Takes the accounts of a file: all that fit, or none when anything fails.
    ///
    /// Whom an account belongs to is as the file says: it gives the account its names, and is not verified.
    /// ``Account/claims``, which are validated, stay empty until the person signs in. Only a token answer with an ID token is
    /// validated, as ``add(_:toType:)`` does. Importing a file again changes nothing; newer tokens in the store are kept.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - type: the account type to take them for; nil: that which the file names, or that of the same client.
    /// - Throws: ``AccountStoreError``; then the store is as it was.
    public func importAccounts(_ file: AccountFile, toType type: String? = nil) async throws -> ImportReport {
        let importer = AccountImporter(context: context, history: history, signIns: signIns, remover: remover)
        return try await AccountStoreError.wrappingErrors("cannot import the accounts") {
            try await importer.importAccounts(file, toType: type)
        }
    }

    /// The accounts with their tokens as JSON text, readable by whoever has it: for moving to another machine. The result is read
    /// again by ``AccountFile``.
    ///
    /// Validated claims are not part of it: what comes back from a file is not validated. Neither are the client's own accounts,
    /// which get new tokens by themselves.
    ///
    /// - Parameter ids: the accounts; nil: all of them.
    /// - Throws: ``AccountStoreError``, also when a record is damaged: a copy that lacks an account must not look whole.
    public func export(_ ids: [Account.ID]? = nil) async throws -> Secret {
        try await AccountStoreError.wrappingErrors("cannot export the accounts") {
            try await AccountExporter(repository: repository).export(ids)
        }
    }
}
