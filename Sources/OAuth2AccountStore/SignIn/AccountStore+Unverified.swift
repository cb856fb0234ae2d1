import OAuth2Protocol

extension AccountStore {
    /// The account without a subject that this person's is: one that was imported, or whose provider did not say who it is. Nil when
    /// none is, and when several could be.
    ///
    /// Without this, a person whose account came from a file would have two accounts after their first sign-in, one of them with
    /// tokens that nobody renews. What is compared is the home account, which Entra gives nobody twice, else the user name at the
    /// same issuer. A user name is less than a subject: a provider may give it to somebody else one day. So it counts only beside
    /// the issuer, for an account that was never verified, and for one account at most. The worst that a wrong match does is that
    /// tokens which nobody had verified are replaced by those of the person who has just signed in; the account then has their
    /// subject, and is never matched by its name again. No token of theirs goes to anybody else.
    func unverifiedAccount(
        of type: AccountType, _ identity: Identity, issuer: String?, homeAccountID: String?
    ) async throws -> Account.ID? {
        guard identity.subject != nil,
            let digest = seal.identities.digest(type: type.name, issuer: nil, subject: nil, isClient: false)
        else { return nil }
        var byHome: [Account.ID] = [], byName: [Account.ID] = []
        for sealed in try await storage.records(ofType: type.name, identity: digest) {
            guard let record = seal.open(sealed), record.subject == nil, record.renewal == nil else { continue }
            if let home = record.homeAccountID, let homeAccountID {
                // Another home account is another person, whatever the name.
                if home == homeAccountID { byHome.append(record.id) }
                continue
            }
            guard let name = record.userName, let signedIn = identity.userName,
                name.lowercased() == signedIn.lowercased(),
                record.issuer.map({ type.isSameIssuer($0, issuer) }) ?? true
            else { continue }
            byName.append(record.id)
        }
        let found = byHome.isEmpty ? byName : byHome
        return found.count == 1 ? found.first : nil
    }
}
