import OAuth2Protocol
import LodgePlatform

/// The error of an update after another process, or a sign-in, changed the tokens.
struct RecordConflict: Error {}

/// The tokens of a refresh, and the tokens that they replace.
struct TokenUpdate: Sendable {
    /// The refresh token that was sent.
    let sent: Secret?
    /// The access token of the record, which the update replaces.
    let replaced: Secret
    let token: TokenSet
    /// The origin of the token endpoint that issued the tokens.
    let origin: String?
    /// Whether to save an additional access token. A token that does not cover its request is not saved, but a new
    /// refresh token is.
    let isStored: Bool
    /// The policy of the tokens, if it is not the account's own.
    let policy: String?

    /// Creates the update of a record that has the policy selected.
    init(_ token: TokenSet, from origin: String?, of record: AccountRecord, isStored: Bool, policy: String?) {
        sent = record.tokens.refreshToken
        replaced = record.tokens.accessToken
        self.token = token
        self.origin = origin
        self.isStored = isStored
        self.policy = policy
    }

    /// Applies the tokens to a record.
    ///
    /// - Throws: ``RecordConflict`` if the record no longer has the refresh token that was sent.
    func apply(to record: inout AccountRecord, _ history: TokenHistory, now: Date) throws {
        try record.update(policy: policy) { try applySelected(to: &$0, history, now: now) }
    }

    /// Applies the tokens to a record that has the policy selected.
    private func applySelected(to record: inout AccountRecord, _ history: TokenHistory, now: Date) throws {
        guard record.tokens.refreshToken == sent else { throw RecordConflict() }
        record.refresh(with: token)
        // An imported account has no origin before its first refresh.
        record.tokenOrigin = record.tokenOrigin ?? origin
        guard isStored, !token.key.isMain else { return }
        var additional = token
        additional.refreshToken = nil
        additional.idToken = nil
        history.add(additional, to: &record.additionalTokens, account: record.id, now: now)
    }

    /// Returns whether a record still has the tokens that these replace, without a newer additional token for the same
    /// key.
    func isNewer(than saved: AccountRecord) -> Bool {
        var record = saved
        guard policy.map({ record.select(policy: $0) }) ?? true else { return false }
        guard record.tokens.refreshToken == sent, record.tokens.accessToken == replaced else { return false }
        let stored = record.additionalTokens?.all.first { $0.key == token.key }
        return stored.map { $0.received < token.received } ?? true
    }
}

extension TokenUpdate: Codable {
    private enum CodingKeys: CodingKey { case sent, replaced, token, scope, resource, origin, isStored, policy }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        sent = try values.decodeIfPresent(Secret.self, forKey: .sent)
        replaced = try values.decode(Secret.self, forKey: .replaced)
        var token = try values.decode(TokenSet.self, forKey: .token)
        token.key.scope = try values.decodeIfPresent([String].self, forKey: .scope).map { Scope($0) }
        token.key.resource = try values.decodeIfPresent(String.self, forKey: .resource)
        self.token = token
        origin = try values.decodeIfPresent(String.self, forKey: .origin)
        isStored = try values.decode(Bool.self, forKey: .isStored)
        policy = try values.decodeIfPresent(String.self, forKey: .policy)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(sent, forKey: .sent)
        try values.encode(replaced, forKey: .replaced)
        try values.encode(token, forKey: .token)
        try values.encodeIfPresent(token.key.scope?.tokens, forKey: .scope)
        try values.encodeIfPresent(token.key.resource, forKey: .resource)
        try values.encodeIfPresent(origin, forKey: .origin)
        try values.encode(isStored, forKey: .isStored)
        try values.encodeIfPresent(policy, forKey: .policy)
    }
}
