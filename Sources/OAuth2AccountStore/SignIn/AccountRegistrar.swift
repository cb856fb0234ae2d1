import JOSE
import OAuth2Protocol
import Platform
import ProviderSettings
import SealedStorage

/// Saves the account of a sign-in: in the account that the user has, otherwise in a new one.
struct AccountRegistrar: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let revoker: TokenRevoker
    var verifier: IdentityVerifier { IdentityVerifier(context: context) }
    var activeAccounts: ActiveAccounts { ActiveAccounts(repository: repository) }

    /// Saves what a sign-in brought: in the account that the person has, else in a new one.
    ///
    /// - Parameters:
    ///   - asked: the scope that was asked for.
    ///   - consented: what the person was asked for in all; nil: the same.
    ///   - senderKey: the key that the tokens are bound to.
    ///   - renewal: how to get tokens again, where there is no person; nil: with the refresh token.
    func save(
        _ response: TokenResponse, received: Date, requested: Scope, consented: Scope? = nil, _ found: Identity,
        _ connection: ProviderClient, senderKey: SigningKey? = nil, serviceGrant: AccountRecord.ServiceGrant? = nil
    ) async throws -> Account {
        let type = connection.type
        var identity = found
        if serviceGrant == nil, identity.userName == nil || identity.displayName == nil {
            await verifier.complete(&identity, response, connection, senderKey)
        }
        // Where a provider says in its own way who signed in, and did not, another person's account would be taken for theirs.
        if serviceGrant == nil, identity.subject == nil, !(type.userinfoClaims.isEmpty && type.tokenClaims.isEmpty) {
            throw OAuth2Error.invalidResponse(member: "sub", reason: "the provider did not say who signed in")
        }
        let tokens = TokenSet(response, requested: requested, received: received)
        let issuer = identity.issuer ?? connection.server.issuer
        // What is consented to beyond the first token is not in its scope.
        let grant = tokens.scope.union(Scope((consented ?? []).tokens.filter { !requested.contains($0) }))
        let homeAccountID = ClientInfo.homeAccountID(response.additional["client_info"]?.string)
        let senderKeyText = try senderKey.map { try DPoPKey.text($0) }
        // Two sign-ins of the same person at a time must not make two accounts.
        let lock = try await storage.lock("type:\(type.name)", timeout: .seconds(120))
        defer { lock.release() }
        // Without a subject there is no telling people apart: such a type has one account, beside the client's own.
        var known = try await knownAccount(
            of: type, issuer: issuer, subject: identity.subject, isClient: serviceGrant != nil)
        if serviceGrant == nil, known == nil {
            known = try await unverifiedAccount(of: type, identity, issuer: issuer, homeAccountID: homeAccountID)
        }
        if serviceGrant == nil, known == nil { try await refuseSecondPerson(tokens, connection) }
        func fill(_ record: inout AccountRecord) {
            record.claims = identity.claims ?? record.claims
            record.userName = identity.userName ?? (serviceGrant == nil ? record.userName : type.clientID)
            record.displayName = identity.displayName ?? record.displayName
            record.homeAccountID = homeAccountID ?? record.homeAccountID
            record.signedIn = received
            // A policy that only changes the profile may give no refresh token: then the sign-in that is there stays.
            if type.policy != record.policy, tokens.refreshToken == nil, record.tokens.refreshToken != nil { return }
            record.policy = type.policy
            record.tokens = tokens
            record.grant = grant
            // They belong to the former grant, and to the former key.
            record.additionalTokens = nil
            record.issuer = issuer
            record.subject = identity.subject
            record.clientID = type.clientID
            record.tokenOrigin = connection.server.tokenEndpoint?.origin
            record.senderKey = senderKeyText
            record.serviceGrant = serviceGrant
            record.signInNeeded = nil
        }
        var account: Account?
        if let known {
            account = try await repository.update(known, .profile, fill).map {
                Account(record: $0.record, position: $0.position)
            }
        }
        if account == nil {
            var record = AccountRecord(
                id: try .unused(dependencies.random), type: type.name,
                issuer: issuer, subject: identity.subject, clientID: type.clientID, tokens: tokens,
                created: received)
            fill(&record)
            account = try await repository.insert(record)
        }
        guard let account else { throw CancellationError() }
        history.setPendingUpdate(nil, account.id)
        try await activeAccounts.setCurrentLocked(account)
        return account
    }

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
            guard let record = seal.open(sealed), record.subject == nil, record.serviceGrant == nil else { continue }
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

    /// The account of a type that this person has, or the client's own; nil when there is none whose record opens.
    ///
    /// Records of a time before identities were kept are opened one by one, once, and are found like all others from then on.
    func knownAccount(
        of configuration: AccountType, issuer: String?, subject: String?, isClient: Bool
    ) async throws -> Account.ID? {
        let type = configuration.name
        func isWanted(_ record: AccountRecord) -> Bool {
            (record.serviceGrant != nil) == isClient && record.subject == subject
                && (subject == nil || configuration.isSameIssuer(record.issuer, issuer))
        }
        if let identity = seal.identities.digest(type: type, issuer: issuer, subject: subject, isClient: isClient) {
            for sealed in try await storage.records(ofType: type, identity: identity) {
                if let record = seal.open(sealed), isWanted(record) { return record.id }
            }
        }
        // The policies of a type may have issuers of their own, and digests with them.
        if !configuration.policies.isEmpty {
            var found: Account.ID?
            try await repository.reader.eachRecord(ofType: type) { sealed in
                if found == nil, let record = seal.open(sealed), isWanted(record) { found = record.id }
            }
            if let found { return found }
        }
        guard let storage = storage as? any IdentityBackfill else { return nil }
        var known: Account.ID?
        var last: Int64 = 0
        while true {
            try Task.checkCancellation()
            var page = try await storage.unidentifiedRecords(ofType: type, after: last, limit: RecordPage.size)
            guard let end = page.last?.position else { return known }
            last = try RecordPage.next(after: last, end, location: storage.location)
            for index in page.indices {
                guard let record = seal.open(page[index]) else { continue }
                page[index].identity = seal.identities.digest(record)
                if known == nil, isWanted(record) { known = record.id }
            }
            // What does not open stays without an identity, and is seen again by the next one who looks here.
            try await storage.identify(page.filter { $0.identity != nil })
        }
    }

    /// On a shared device the person who is signed in is the one who is expected: they may sign in again.
    func expectSignedInPerson(in requested: inout AuthorizationParameters, _ type: AccountType) async throws {
        guard settings.deviceMode == .shared, requested.request.loginHint == nil else { return }
        requested.request.loginHint = try await activeAccounts.accounts(ofType: type.name).first { !$0.isClient }?
            .userName
    }

    /// Refuses another person's sign-in on a shared device. The type's lock is held.
    func refuseSecondPerson(_ tokens: TokenSet, _ connection: ProviderClient) async throws {
        guard settings.deviceMode == .shared,
            let other = try await activeAccounts.accounts(ofType: connection.type.name).first(where: { !$0.isClient })
        else { return }
        // Nothing of them stays on the device.
        _ = await revoker.revoke(tokens, connection)
        throw AccountStoreError(
            .refused, what: "cannot sign in",
            reason: "this is a shared device, and \(other.label) is signed in to \(other.type)", remedy: .nothing,
            hint: "\(other.label) has to sign out first")
    }
}
