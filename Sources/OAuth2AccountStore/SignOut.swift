import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a sign-out did, part by part.
public struct SignOutReport: Sendable {
    /// How one part went.
    public enum Part: Sendable, Equatable {
        /// It is done.
        case done
        /// The provider does not offer it.
        case notOffered
        /// It was not asked for.
        case skipped
        /// It did not work; the token must be assumed to live on.
        case failed(String)
    }

    /// The account that was removed here. That part always happens: otherwise the call throws.
    public let account: Account
    /// Whether the provider forgot the tokens (RFC 7009).
    public let revocation: Part
    /// Where the browser ends its session at the provider; nil when the provider does not offer it. It holds the ID token.
    public let endSessionURL: URL?
}

extension AccountStore {
    /// Signs an account out: removes it here, then asks the provider to forget its tokens.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - revoking: whether the provider is asked; without, the network is not used.
    /// - Returns: What was done. The account is gone here even when the provider could not be reached.
    /// - Throws: ``AccountStoreError`` when the account could not be removed; then nothing was done.
    public func signOut(_ id: Account.ID, revoking: Bool = true) async throws -> SignOutReport {
        guard let read = try await failing("cannot sign out", { try await read(id) }) else { throw unknown(id) }
        let record = read.record
        try await remove(id)
        let account = Account(record: record, position: read.position)
        guard revoking else { return SignOutReport(account: account, revocation: .skipped, endSessionURL: nil) }
        do {
            let type = try type(record.type)
            let connection = try await connection(to: type)
            return SignOutReport(
                account: account, revocation: await revoke(record.tokens, connection),
                endSessionURL: EndSessionRequest.url(
                    server: connection.server, client: connection.client, idToken: record.tokens.idToken))
        } catch {
            return SignOutReport(account: account, revocation: .failed(Self.reason(error)), endSessionURL: nil)
        }
    }

    /// The refresh token first: most providers then forget the access token too.
    private func revoke(
        _ tokens: Tokens, _ connection: ProviderConnection
    ) async -> SignOutReport.Part {
        var outcome = SignOutReport.Part.notOffered
        var requests: [(Secret, RevocationRequest.Hint)] = []
        if let refreshToken = tokens.refreshToken { requests.append((refreshToken, .refreshToken)) }
        requests.append((tokens.accessToken, .accessToken))
        for (token, hint) in requests {
            do {
                guard try await revoke(token, hint, tokens, connection) else { return .notOffered }
                outcome = .done
            } catch {
                // The access token dies by itself; what counts is the refresh token.
                if hint == .refreshToken || outcome != .done { outcome = .failed(Self.reason(error)) }
                break
            }
        }
        return outcome
    }

    /// Asks the provider to forget one token; false when it does not offer that.
    private func revoke(
        _ token: Secret, _ hint: RevocationRequest.Hint, _ tokens: Tokens, _ connection: ProviderConnection
    ) async throws -> Bool {
        let server = connection.server
        guard
            let request = try RevocationRequest(
                token, hint: hint, server: server, client: try connection.preparedClient())
        else { return false }
        let response = try await connection.send(request.request)
        do throws(OAuth2Error) {
            try RevocationRequest.read(response)
        } catch {
            // glewlwyd and a few others let a public client revoke only with its access token in the Authorization field.
            guard [400, 401, 403].contains(response.status), connection.client.authentication == .none,
                let request = try RevocationRequest(
                    token, hint: hint, server: server, client: connection.client, bearer: tokens.accessToken)
            else { throw error }
            try RevocationRequest.read(try await connection.send(request.request))
        }
        return true
    }

    private static func reason(_ error: any Error) -> String {
        let failure = AccountStoreError.wrapping(error, what: "")
        return (failure as? AccountStoreError)?.reason ?? "\(failure)"
    }
}
