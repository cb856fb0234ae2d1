import OAuth2Protocol
import LodgePlatform

extension AccountRecord {
    /// Returns the record with another policy selected. Without a policy, returns the record unchanged.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `signInNeeded` if the user has not signed in with the policy.
    func selected(_ policy: String?) throws -> AccountRecord {
        guard let policy else { return self }
        var record = self
        guard record.select(policy: policy) else {
            throw AccountStoreError(
                .signInNeeded(.interactionRequired), what: "no access token",
                reason: "the account has no tokens of the policy \(policy.debugDescription)", remedy: .signInAgain,
                hint: "sign in with this policy; the account keeps its own")
        }
        return record
    }

    /// Changes the record while another policy is selected.
    ///
    /// - Throws: ``RecordConflict`` if the record no longer has tokens of the policy.
    mutating func update(policy: String?, _ change: (inout AccountRecord) throws -> Void) throws {
        guard policy != nil, policy != self.policy else { return try change(&self) }
        // Change a copy, so that the record is unchanged if the change throws.
        var changed = self
        guard changed.select(policy: policy) else { throw RecordConflict() }
        try change(&changed)
        _ = changed.select(policy: self.policy)
        // The claims of this refresh belong to the ID token of the other policy, not to the account.
        changed.claimsText = claimsText
        (changed.userName, changed.displayName) = (userName, displayName)
        self = changed
    }
}
