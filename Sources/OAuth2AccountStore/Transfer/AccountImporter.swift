import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage
import StrictJSON

/// Imports the accounts of a file.
struct AccountImporter: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let signIns: SignInCoordinator
    let remover: AccountRemover
    private var activeAccounts: ActiveAccounts { ActiveAccounts(repository: repository) }

    func importAccounts(_ file: AccountFile, toType type: String? = nil) async throws -> ImportReport {
        if let type { _ = try context.type(type) }
        if let tokenResponse = file.entries.first?.tokenResponse {
            return try await importTokenResponse(tokenResponse, file, type ?? settings.defaultType)
        }
        var report = ImportReport()
        var undo: [@Sendable () async throws -> Void] = []
        var locks: [any StorageLock] = []
        var known: [String: AccountMatcher] = [:]
        defer { for lock in locks { lock.release() } }
        do {
            try await storage.checkWritable()
            // Two simultaneous imports, or an import and a sign-in, must not create two accounts of one user.
            for name in Set(file.entries.compactMap { try? target($0, type).get().name }).sorted() {
                locks.append(try await storage.lock("type:\(name)", timeout: .seconds(120)))
                var accounts = AccountMatcher()
                try await repository.reader.eachRecord(ofType: name) { sealed in
                    if let record = seal.open(sealed) { accounts.add(record) }
                }
                known[name] = accounts
            }
            for entry in file.entries {
                let outcome: ImportReport.Outcome
                switch target(entry, type) {
                case .failure(let reason): outcome = .left(reason: reason.text)
                case .success(let type):
                    outcome = try await take(entry, type, &known[type.name, default: AccountMatcher()], &undo)
                }
                report.items.append(
                    .init(location: entry.location, name: entry.userName ?? entry.displayName, outcome: outcome))
            }
        } catch {
            let steps = undo
            // Unstructured, because a cancelled task could not finish the undo steps.
            await Task { for step in steps.reversed() { try? await step() } }.value
            throw error
        }
        report.items += file.left.map {
            .init(location: $0.location, name: $0.name, outcome: .left(reason: $0.reason))
        }
        report.items += file.clients.map {
            .init(location: $0.location, name: $0.name, outcome: .left(reason: nextStep(for: $0)))
        }
        return report
    }

    /// Returns the reason why a client has no tokens, with the setting to add or the key that the file lacks.
    private func nextStep(for client: ConfiguredClient) -> String {
        guard client.missingKeys.isEmpty else {
            return "the file has no \(client.missingKeys.joined(separator: ", ")) for it"
        }
        if let type = settings.types.first(where: { $0.clientID == client.clientID }) {
            return "\(client.reason); sign in to \(type.name), which has its client"
        }
        return "\(client.reason); add to \"types\" of the settings, and sign in: \(client.settings)"
    }

    private func importTokenResponse(_ object: JSONObject, _ file: AccountFile, _ type: String) async throws
        -> ImportReport
    {
        let before = Set(try await activeAccounts.accounts(ofType: type).map(\.id))
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"],
            body: Data(JSONValue.object(object).serialized()))
        let account = try await signIns.add(try TokenResponse.read(response), toType: type)
        let outcome: ImportReport.Outcome = before.contains(account.id) ? .updated(account) : .added(account)
        return ImportReport(items: [
            .init(location: file.entries.first?.location ?? "", name: account.userName, outcome: outcome)
        ])
    }

    private struct Obstacle: Error { let text: String }

    private func target(_ entry: AccountFile.Entry, _ name: String?) -> Result<AccountType, Obstacle> {
        func rejection(_ text: String) -> Result<AccountType, Obstacle> { .failure(Obstacle(text: text)) }
        let found: AccountType
        if let name = name ?? entry.type {
            do throws(SettingsError) {
                guard let type = try settings.type(named: name) else {
                    return rejection(
                        "the settings have no account type \(name.debugDescription); choose an account type")
                }
                found = type
            } catch {
                return rejection("\(error)")
            }
        } else if let client = entry.clientID {
            if let unusable = settings.unusableTypes.first(where: { $0.clientID == client }) {
                return rejection("the account type \(unusable.name) has its client: \(unusable.error)")
            }
            let all = settings.types.filter { $0.clientID == client }
            guard let type = all.first(where: { $0.name == settings.defaultType }) ?? all.first else {
                return rejection("no account type of the settings has \"clientId\": \(JSONValue.string(client).text())")
            }
            found = type
        } else if let host = entry.host, let type = onlyType(at: host) {
            found = type
        } else {
            do throws(SettingsError) {
                guard let type = try settings.type(named: settings.defaultType) else {
                    return rejection("the settings have no default type")
                }
                found = type
            } catch {
                return rejection("\(error)")
            }
        }
        if let client = entry.clientID, client != found.clientID {
            return rejection("its tokens are for the client \(client), and \(found.name) is another one")
        }
        if entry.hasClientSecret, found.clientSecret == nil {
            return rejection("its client has a secret, and \(found.name) has no clientSecret in the settings")
        }
        if let type = entry.tokens.type, ["dpop", "pop", "mac"].contains(type),
            type != "dpop" || entry.senderKey.flatMap(DPoPKey.key) == nil
        {
            return rejection("its tokens are bound to a key that is not in the file")
        }
        let policies = [entry.policy].compactMap { $0 } + entry.policySignIns.keys.filter { !$0.isEmpty }.sorted()
        if let policy = policies.first(where: { found.policies[$0] == nil }) {
            return rejection(
                "its tokens are of the policy \(policy.debugDescription), and \(found.name) does not have this policy")
        }
        if let host = entry.host, !host.isEmpty, let own = found.providerHost,
            AccountFileReader.cloud(own) != AccountFileReader.cloud(host)
        {
            return rejection("its tokens are of \(host), and \(found.name) is at \(own)")
        }
        return .success(found)
    }

    /// Returns the account type of a provider: the default type, or the only one. Returns `nil` if several match.
    private func onlyType(at host: String) -> AccountType? {
        let all = settings.types.filter {
            $0.providerHost.map(AccountFileReader.cloud) == AccountFileReader.cloud(host)
        }
        return all.first { $0.name == settings.defaultType } ?? (all.count == 1 ? all[0] : nil)
    }

    private func take(
        _ entry: AccountFile.Entry, _ type: AccountType, _ accounts: inout AccountMatcher,
        _ undo: inout [@Sendable () async throws -> Void]
    ) async throws -> ImportReport.Outcome {
        let now = dependencies.now()
        let origin = ImportOrigin(key: entry.key, digest: entry.digest)
        let tokens = entry.tokens.dated(now)
        if let id = accounts.account(of: entry, origin), let found = try await repository.read(id) {
            let known = found.record
            if known.imported?.digest == origin.digest || known.tokens.holds(entry.tokens) {
                return .unchanged(found.account)
            }
            // An older file must not replace a rotated refresh token with an invalid one.
            if entry.hasTime, known.tokens.received > tokens.received, known.signInNeeded == nil {
                return .unchanged(found.account)
            }
            let saved = try await repository.update(id, .profile) { record in
                record.tokens = tokens
                record.signInNeeded = nil
                // The claims were validated with other tokens. The user of the imported tokens is not verified.
                record.claims = nil
                // The additional tokens belong to the previous grant.
                record.additionalTokens = nil
                record.signedIn = now
                fill(&record, entry, origin, type)
            }
            guard let saved else { throw AccountStoreError.unknownAccount(id) }
            undo.append {
                _ = try await repository.update(id, .profile) { if $0.tokens == tokens { $0 = known } }
            }
            history.setPendingUpdate(nil, id)
            accounts.remove(known)
            accounts.add(saved.record)
            return .updated(saved.account)
        }
        if settings.deviceMode == .shared, let user = accounts.anyUser {
            return .left(reason: "this is a shared device, and \(user) is signed in to \(type.name)")
        }
        var record = AccountRecord(
            id: try .unused(dependencies.random), type: type.name, issuer: nil,
            subject: nil, clientID: type.clientID,
            tokens: tokens, created: entry.created ?? now)
        fill(&record, entry, origin, type)
        let account = try await repository.insert(record)
        undo.append { try await remover.remove(account.id) }
        accounts.add(record)
        return .added(account)
    }

    private func fill(
        _ record: inout AccountRecord, _ entry: AccountFile.Entry, _ origin: ImportOrigin, _ type: AccountType
    ) {
        record.imported = origin
        record.clientID = type.clientID
        record.issuer = entry.issuer ?? record.issuer
        record.subject = entry.subject ?? record.subject
        record.userName = entry.userName ?? record.userName
        record.displayName = entry.displayName ?? record.displayName
        record.nickname = record.nickname ?? entry.nickname
        record.homeAccountID = entry.homeAccountID ?? record.homeAccountID
        record.grant = entry.grant
        record.policy = entry.policy
        record.tokenOrigin = entry.tokenOrigin ?? record.tokenOrigin ?? type.endpoints.token?.origin
        record.senderKey = entry.senderKey
        fillPolicies(&record, entry)
        record.userData = record.userData ?? entry.userData
    }
}

extension AccountImporter {
    /// Adds the tokens of other policies, unless the record has newer ones.
    private func fillPolicies(_ record: inout AccountRecord, _ entry: AccountFile.Entry) {
        var others = record.policySignIns ?? [:]
        for (policy, imported) in entry.policySignIns {
            var signIn = imported
            signIn.clientID = record.clientID
            signIn.tokens = signIn.tokens.dated(dependencies.now())
            if let known = others[policy], known.signInNeeded == nil, known.tokens.received > signIn.tokens.received {
                continue
            }
            others[policy] = signIn
        }
        // The main tokens belong to this policy.
        others[record.policy ?? ""] = nil
        record.policySignIns = others.isEmpty ? nil : others
    }
}

extension AccountType {
    /// The host of the provider, if the settings name it.
    fileprivate var providerHost: String? {
        switch provider {
        case .authority(let authority): URL(string: "\(authority)")?.host(percentEncoded: true)
        case .issuer(let issuer): URL(string: issuer)?.host(percentEncoded: true)
        case .endpoints, .staticToken: endpoints.token?.host(percentEncoded: true)
        }
    }
}
