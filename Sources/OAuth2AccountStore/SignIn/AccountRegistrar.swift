import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage

/// Saves the account of a sign-in. It updates the user's account if there is one, and otherwise creates an account.
struct AccountRegistrar: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let revoker: TokenRevoker
    var verifier: IdentityVerifier { IdentityVerifier(context: context) }
    var activeAccounts: ActiveAccounts { ActiveAccounts(repository: repository) }

    /// Saves the account of a sign-in, and makes it the current account of its type.
    ///
    /// - Parameters:
    ///   - consented: The scope of the user's consent. The default is the requested scope.
    ///   - serviceGrant: The request for new tokens without a user, for the client's own account.
    ///   - redirectIssuer: The issuer that the redirect named, for a type without an issuer in the settings. The store
    ///     saves it and never verifies it.
    func save(
        _ response: TokenResponse, received: Date, requested: Scope, consented: Scope? = nil, _ found: Identity,
        _ connection: ProviderClient, senderKey: SigningKey? = nil, serviceGrant: AccountRecord.ServiceGrant? = nil,
        redirectIssuer: String? = nil
    ) async throws -> Account {
        let type = connection.type
        var identity = found
        if serviceGrant == nil, identity.userName == nil || identity.displayName == nil {
            identity = try await revokingIfRejected(response, connection) {
                try await verifier.completed(found, response, connection, senderKey)
            }
        }
        // Without a subject, the account of a different user would match.
        if serviceGrant == nil, identity.subject == nil, !(type.userinfoClaims.isEmpty && type.tokenClaims.isEmpty) {
            throw OAuth2Error.invalidResponse(member: "sub", reason: "the provider did not identify the user")
        }
        let tokens = TokenSet(response, requested: requested, received: received)
        let issuer = identity.issuer ?? connection.server.issuer
        // The first access token does not have the additional scope of the consent.
        let grant = tokens.scope.union(Scope((consented ?? []).tokens.filter { !requested.contains($0) }))
        let homeAccountID = ClientInfo.homeAccountID(response.additional["client_info"]?.string)
        let senderKeyText = try senderKey.map { try DPoPKey.text($0) }
        // Two simultaneous sign-ins of a user must not create two accounts.
        let lock = try await storage.lock("type:\(type.name)", timeout: .seconds(120))
        defer { lock.release() }
        let clientID = identity.clientID ?? type.clientID
        // Without a subject, users cannot be distinguished. A type without subjects has one account, and one of the
        // client itself.
        var known = try await knownAccount(
            of: type, issuer: issuer, subject: identity.subject,
            client: serviceGrant.map { _ in identity.clientID ?? type.clientID })
        if serviceGrant == nil, known == nil {
            known = try await unverifiedAccount(of: type, identity, issuer: issuer, homeAccountID: homeAccountID)
        }
        if serviceGrant == nil, known == nil { try await refuseSecondPerson(tokens, connection) }
        func fill(_ record: inout AccountRecord) {
            // A user who edits the profile does not sign in again: the account keeps its policy, its home account and
            // its tokens.
            let otherPolicy = known == nil || type.policy == record.policy ? nil : type.policy
            if let claims = identity.claims {
                if otherPolicy == nil { record.claims = claims } else { record.replaceProfile(with: claims) }
            }
            record.userName = identity.userName ?? (serviceGrant == nil ? record.userName : clientID)
            record.displayName = identity.displayName ?? record.displayName
            // The token has no provider, and so no name of a user.
            if type.provider == .staticToken { record.displayName = record.displayName ?? type.name }
            record.signedIn = received
            if let otherPolicy {
                let signIn = PolicySignIn(
                    issuer: issuer, clientID: type.clientID, tokenOrigin: connection.server.tokenEndpoint?.origin,
                    tokens: tokens, grant: grant, senderKey: senderKeyText)
                return record.add(signIn, policy: otherPolicy)
            }
            if known != nil, type.policy != record.policy { record.keepPolicySignIn() }
            record.homeAccountID = homeAccountID ?? record.homeAccountID
            record.redirectIssuer = redirectIssuer
            record.policy = type.policy
            record.tokens = tokens
            record.grant = grant
            // The additional tokens belong to the previous grant and key.
            record.additionalTokens = nil
            record.issuer = issuer
            record.subject = identity.subject
            record.clientID = clientID
            record.tokenOrigin = connection.server.tokenEndpoint?.origin
            record.senderKey = senderKeyText
            record.serviceGrant = serviceGrant
            record.signInNeeded = nil
            record.requiredClaims = nil
        }
        // One transaction saves the account and makes it the current one. A server waits for the disk once per user.
        func values(_ id: Account.ID) async throws -> [String: [UInt8]] {
            try await activeAccounts.values(makingCurrent: id, ofType: type.name)
        }
        var account: Account?
        if let known {
            account = try await repository.update(known, .profile, setting: values(known), fill).map(\.account)
        }
        if account == nil {
            var record = AccountRecord(
                id: try .unused(dependencies.random), type: type.name,
                issuer: issuer, subject: identity.subject, clientID: clientID, tokens: tokens,
                created: received)
            fill(&record)
            account = try await repository.insert(record, setting: values(record.id))
        }
        guard let account else { throw CancellationError() }
        // Unsaved tokens of this policy are older than the new ones. Unsaved tokens of another policy exist only there,
        // so save them.
        let rescue = TokenRescue(context: context, history: history)
        try? await rescue.savePendingUpdate(account.id)
        try? await rescue.importTokens(of: account.id)
        await ProviderFailures(context).remove(account.id)
        return account
    }

    /// Revokes the tokens of a response if verification rejects its user, because no account uses them.
    ///
    /// After other errors, such as keys that cannot be loaded, the tokens remain valid, because some providers would
    /// also revoke the previous tokens of the same user.
    func revokingIfRejected(
        _ response: TokenResponse, _ connection: ProviderClient, _ verify: () async throws -> Identity
    ) async throws -> Identity {
        do {
            return try await verify()
        } catch {
            if Self.isRejection(error),
                let connection = try? await client(of: connection.type, offering: "revocation_endpoint")
            {
                _ = await revoker.revoke(
                    TokenSet(response, requested: [], received: dependencies.now()), connection)
            }
            throw error
        }
    }

    private static func isRejection(_ error: any Error) -> Bool {
        switch error {
        case is IDTokenError, OAuth2Error.idToken, OAuth2Error.invalidResponse("sub_mismatch", _): true
        default: false
        }
    }

    /// Returns this user's account without a subject, such as an imported one, or `nil` if there is not exactly one
    /// match.
    ///
    /// Without this match, a user with an imported account would have two accounts after the first sign-in, and the
    /// tokens of the imported one would never be refreshed.
    ///
    /// At Entra, the home account identifies the user. At other providers the user name must match. A provider can
    /// reassign a user name, so it counts only at the same issuer, only for an account that was never verified, and
    /// only if one account matches. A wrong match replaces unverified tokens with the tokens of the user who has just
    /// signed in. Afterwards the account has a subject, and never matches by name again.
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
                // A different home account is a different user, even with the same name.
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

    /// Returns the identifier of this user's account, or of the client's own account.
    ///
    /// The issuer and the client identify the account of a client: another client of the same type is another account.
    ///
    /// Earlier versions saved records without an identity digest. This reads each of them once and adds the digest.
    func knownAccount(
        of configuration: AccountType, issuer: String?, subject: String?, client: String?
    ) async throws -> Account.ID? {
        let type = configuration.name
        func isWanted(_ record: AccountRecord) -> Bool {
            guard (record.serviceGrant != nil) == (client != nil), record.subject == subject else { return false }
            let isSameIssuer = configuration.isSameIssuer(record.issuer, issuer)
            return client.map { record.clientID == $0 && isSameIssuer } ?? (subject == nil || isSameIssuer)
        }
        if let identity = seal.identities.digest(
            type: type, issuer: issuer, subject: subject, isClient: client != nil)
        {
            for sealed in try await storage.records(ofType: type, identity: identity) {
                if let record = seal.open(sealed), isWanted(record) { return record.id }
            }
        }
        // The policies of a type can have different issuers, and so different digests.
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
            // Damaged records remain without a digest. The next search reads them again.
            try await storage.identify(page.filter { $0.identity != nil })
        }
    }

    /// Sets the login hint on a shared device to the user who is signed in, because no other user can sign in.
    func expectSignedInPerson(in requested: inout AuthorizationParameters, _ type: AccountType) async throws {
        guard settings.deviceMode == .shared, requested.request.loginHint == nil else { return }
        requested.request.loginHint = try await activeAccounts.accounts(ofType: type.name).first { !$0.isClient }?
            .userName
    }

    /// Throws if a different user is signed in on a shared device, and revokes the new tokens. The caller holds the
    /// type's lock.
    func refuseSecondPerson(_ tokens: TokenSet, _ connection: ProviderClient) async throws {
        guard settings.deviceMode == .shared,
            let other = try await activeAccounts.accounts(ofType: connection.type.name).first(where: { !$0.isClient })
        else { return }
        _ = await revoker.revoke(tokens, connection)
        throw AccountStoreError(
            .refused, what: "cannot sign in",
            reason: "this is a shared device, and \(other.label) is signed in to \(other.type)", remedy: .nothing,
            hint: "\(other.label) has to sign out first")
    }
}
