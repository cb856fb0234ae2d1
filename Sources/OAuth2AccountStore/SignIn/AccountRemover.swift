import OAuth2Protocol
import LodgePlatform

/// Removes accounts, with or without a sign-out at the provider.
struct AccountRemover: StoreCollaborator {
    let context: StoreContext
    let history: TokenHistory
    let revoker: TokenRevoker

    /// Removes an account from the storage. Does nothing if the account does not exist.
    func remove(_ id: Account.ID) async throws {
        try await AccountStoreError.wrappingErrors("cannot remove the account") {
            let record = (try? await repository.read(id))?.record
            let policies = record?.policySignIns?.keys.sorted() ?? []
            if settings.deviceMode == .shared, let record, record.serviceGrant == nil {
                // A sign-out must succeed even if this write fails.
                try? await ActiveAccounts(repository: repository).noteSignOut(of: record)
            }
            let isRemoved = try await repository.remove(id)
            history.setPendingUpdate(nil, id)
            await TokenRescue(context: context, history: history).remove(id)
            guard isRemoved else { return }
            for policy in [nil] + policies {
                try? await storage.setValue(nil, for: RefreshJournal.name(id, policy: policy))
            }
            await ProviderFailures(context).remove(id)
        }
    }

    /// Removes an account, revokes its tokens and ends the browser session.
    func signOut(_ id: Account.ID, revoking: Bool, endingBrowserSession: Bool?) async throws -> SignOutReport {
        guard
            let read = try await AccountStoreError.wrappingErrors("cannot sign out", { try await repository.read(id) })
        else { throw AccountStoreError.unknownAccount(id) }
        var record = read.record
        // Revoke the newest tokens, even if they are not saved.
        try? history.pendingUpdate(id)?(&record)
        if let update = await TokenRescue(context: context, history: history).update(of: id) { try? update(&record) }
        try await remove(id)
        let account = read.account
        let failure = revoking ? await revokeOtherPolicies(of: record) : nil
        // The client's own account has no browser session.
        let ends = endingBrowserSession ?? (revoking && settings.deviceMode == .shared && record.serviceGrant == nil)
        guard revoking || ends else {
            return SignOutReport(
                account: account, revocation: .skipped, browserSession: .skipped, endSessionURL: nil)
        }
        do {
            let type = try type(of: record)
            let connection = try await client(of: type, offering: revoking ? "revocation_endpoint" : nil)
            // If the settings name a different provider now, it must not receive these tokens.
            try RefreshTokenBinding.check(record, type, connection.server)
            let url = EndSessionRequest.url(
                server: connection.server, client: connection.client, idToken: record.tokens.idToken)
            return SignOutReport(
                account: account,
                revocation: revoking
                    ? (await revoker.revoke(record.tokens, and: record.additionalTokens, connection)).or(failure)
                    : .skipped,
                browserSession: ends ? await endSession(url) : .skipped, endSessionURL: url)
        } catch {
            let failed = SignOutReport.Part.failed(AccountStoreError.reason(of: error))
            return SignOutReport(
                account: account, revocation: revoking ? failed : .skipped, browserSession: ends ? failed : .skipped,
                endSessionURL: nil)
        }
    }

    /// Revokes the tokens of the other policies of an account. Returns the first failure.
    private func revokeOtherPolicies(of record: AccountRecord) async -> SignOutReport.Part? {
        var failure: SignOutReport.Part?
        for policy in record.policySignIns?.keys.sorted() ?? [] {
            do {
                let other = try record.selected(policy)
                let type = try type(of: other)
                let connection = try await client(of: type, offering: "revocation_endpoint")
                try RefreshTokenBinding.check(other, type, connection.server)
                let part = await revoker.revoke(other.tokens, and: other.additionalTokens, connection)
                if case .failed = part { failure = failure ?? part }
            } catch {
                failure = failure ?? .failed("policy \(policy): \(AccountStoreError.reason(of: error))")
            }
        }
        return failure
    }

    private func endSession(_ url: URL?) async -> SignOutReport.Part {
        guard let url else { return .notOffered }
        do {
            try await dependencies.openBrowser(url)
            return .succeeded
        } catch {
            return .failed(AccountStoreError.reason(of: error))
        }
    }
}

extension SignOutReport.Part {
    /// Returns this result if it is a failure, otherwise the given failure, if any.
    fileprivate func or(_ failure: Self?) -> Self {
        if case .failed = self { self } else { failure ?? self }
    }
}
