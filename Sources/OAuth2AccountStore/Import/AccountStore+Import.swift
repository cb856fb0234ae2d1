import HTTPTransport
import JOSE
import OAuth2
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What an import did with each account of a file.
public struct ImportReport: Sendable {
    /// What became of an account.
    public enum Outcome: Sendable, Equatable {
        /// It is new.
        case added(Account)
        /// It was there and has the file's tokens now.
        case updated(Account)
        /// It was there with these tokens, or newer ones.
        case unchanged(Account)
        /// It was not taken, and why.
        case left(reason: String)
    }

    /// One account of the file.
    public struct Item: Sendable, Equatable {
        /// Where it stands in the file.
        public var place: String
        /// Its name, when the file has one. Text of the file: make control characters visible before showing it.
        public var name: String?
        /// What became of it.
        public var outcome: Outcome
    }

    /// The accounts, in the order of the file.
    public internal(set) var items: [Item] = []

    /// How many are in the store now that came from the file: added, updated or there before.
    public var count: Int { items.count { if case .left = $0.outcome { false } else { true } } }
}

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
        try await failing("cannot import the accounts") {
            if let type { _ = try self.type(type) }
            if let answer = file.entries.first?.answer {
                return try await importAnswer(answer, file, type ?? settings.defaultType)
            }
            var report = ImportReport()
            var undo: [() async throws -> Void] = []
            var locks: [any StorageLock] = []
            defer { for lock in locks { lock.release() } }
            do {
                try await storage.checkWritable()
                // Two imports, or an import and a sign-in, at a time must not make two accounts of one person.
                for name in Set(file.entries.compactMap { try? target($0, type).get().name }).sorted() {
                    locks.append(try await storage.lock("type:\(name)", timeout: .seconds(120)))
                }
                for entry in file.entries {
                    let outcome: ImportReport.Outcome
                    switch target(entry, type) {
                    case .failure(let reason): outcome = .left(reason: reason.text)
                    case .success(let type): outcome = try await take(entry, type, &undo)
                    }
                    report.items.append(
                        .init(place: entry.place, name: entry.userName ?? entry.displayName, outcome: outcome))
                }
            } catch {
                for step in undo.reversed() { try? await step() }
                throw error
            }
            report.items += file.left.map { .init(place: $0.place, name: $0.name, outcome: .left(reason: $0.reason)) }
            return report
        }
    }

    private func importAnswer(_ object: JSONObject, _ file: AccountFile, _ type: String) async throws -> ImportReport {
        let before = Set(try await accounts(ofType: type).map(\.id))
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"],
            body: Data(JSONValue.object(object).serialized()))
        let account = try await add(try TokenResponse.read(response), toType: type)
        let outcome: ImportReport.Outcome = before.contains(account.id) ? .updated(account) : .added(account)
        return ImportReport(items: [
            .init(place: file.entries.first?.place ?? "", name: account.userName, outcome: outcome)
        ])
    }

    private struct Obstacle: Error { let text: String }

    /// The type that an account of a file is for.
    private func target(_ entry: AccountFile.Entry, _ wanted: String?) -> Result<AccountType, Obstacle> {
        func refused(_ text: String) -> Result<AccountType, Obstacle> { .failure(Obstacle(text: text)) }
        let found: AccountType
        if let name = wanted ?? entry.type {
            guard let type = settings[name] else {
                return refused("the settings have no account type \(name.debugDescription); name one with --type")
            }
            found = type
        } else if let client = entry.clientID {
            let all = settings.types.filter { $0.clientID == client }
            guard let type = all.first(where: { $0.name == settings.defaultType }) ?? all.first else {
                return refused("no account type of the settings has the client \(client)")
            }
            found = type
        } else {
            guard let type = settings[settings.defaultType] else { return refused("the settings have no default type") }
            found = type
        }
        if let client = entry.clientID, client != found.clientID {
            return refused("its tokens are for the client \(client), and \(found.name) is another one")
        }
        if let host = entry.host, !host.isEmpty, let own = found.providerHost,
            AccountFileReader.cloud(own) != AccountFileReader.cloud(host)
        {
            return refused("its tokens are of \(host), and \(found.name) is at \(own)")
        }
        return .success(found)
    }

    private func take(
        _ entry: AccountFile.Entry, _ type: AccountType, _ undo: inout [() async throws -> Void]
    ) async throws -> ImportReport.Outcome {
        let now = surroundings.now()
        let mark = ImportMark(key: entry.key, digest: entry.digest)
        let tokens = entry.tokens.dated(now)
        if let known = try await known(entry, mark, type) {
            if known.imported?.digest == mark.digest || known.tokens.holds(entry.tokens) {
                return .unchanged(Account(record: known, position: loaded[known.id]?.position ?? 0))
            }
            // A refresh token that was rotated since would be lost for one that is dead.
            if entry.hasTime, known.tokens.received > tokens.received, known.signInNeeded == nil {
                return .unchanged(Account(record: known, position: loaded[known.id]?.position ?? 0))
            }
            let saved = try await update(known.id, .profile) { record in
                record.tokens = tokens
                record.signInNeeded = nil
                // They were validated with other tokens, and nobody knows yet whose these are.
                record.claims = nil
                fill(&record, entry, mark, type)
            }
            guard let saved else { throw unknown(known.id) }
            undo.append { [self] in
                _ = try await update(known.id, .profile) { if $0.tokens == tokens { $0 = known } }
            }
            unsaved[known.id] = nil
            return .updated(Account(record: saved.record, position: saved.position))
        }
        var record = AccountRecord(
            id: Account.ID(rawValue: Base64URL.encode(try surroundings.random(12))), type: type.name, issuer: nil,
            subject: nil, clientID: type.clientID,
            tokens: tokens, created: entry.created ?? now)
        fill(&record, entry, mark, type)
        let account = try await insert(record)
        undo.append { [self] in try await remove(account.id) }
        return .added(account)
    }

    private nonisolated func fill(
        _ record: inout AccountRecord, _ entry: AccountFile.Entry, _ mark: ImportMark, _ type: AccountType
    ) {
        record.imported = mark
        record.clientID = type.clientID
        record.issuer = entry.issuer ?? record.issuer
        record.subject = entry.subject ?? record.subject
        record.userName = entry.userName ?? record.userName
        record.displayName = entry.displayName ?? record.displayName
        record.nickname = record.nickname ?? entry.nickname
        record.tokenOrigin = entry.tokenOrigin ?? record.tokenOrigin
        record.senderKey = entry.senderKey
        record.userData = record.userData ?? entry.userData
    }

    /// The account in the store that one of a file is: the same person, or the same import.
    private func known(
        _ entry: AccountFile.Entry, _ mark: ImportMark, _ type: AccountType
    ) async throws -> AccountRecord? {
        let records = try await storage.records(ofType: type.name).compactMap(seal.open).filter { $0.renewal == nil }
        let found =
            records.first { $0.imported?.digest == mark.digest || $0.tokens.holds(entry.tokens) }
            ?? records.first { entry.subject != nil && $0.subject == entry.subject && $0.issuer == entry.issuer }
            ?? records.first {
                mark.key != nil && ($0.imported?.key == mark.key || "export:\($0.id)" == mark.key)
            }
        // Read once more, so that it is kept with its place.
        guard let found else { return nil }
        return try await read(found.id)?.record
    }
}

extension Tokens {
    /// Whether these are the same tokens.
    fileprivate func holds(_ other: Tokens) -> Bool {
        if let refreshToken { return refreshToken == other.refreshToken }
        return other.refreshToken == nil && accessToken == other.accessToken
    }
}

extension AccountType {
    /// The host of the provider, where the settings name it.
    fileprivate var providerHost: String? {
        switch provider {
        case .authority(let authority): URL(string: "\(authority)")?.host(percentEncoded: true)
        case .issuer(let issuer): URL(string: issuer)?.host(percentEncoded: true)
        case .endpoints: endpoints["token_endpoint"]?.host(percentEncoded: true)
        }
    }
}
