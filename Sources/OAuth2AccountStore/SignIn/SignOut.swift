import Platform
import OAuth2Protocol

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
    /// Whether the browser was asked to end its session at the provider (RP-Initiated Logout 1.0). Done: it was sent there.
    public let browserSession: Part
    /// Where the browser ends its session at the provider; nil when the provider does not offer it. It holds the ID token.
    public let endSessionURL: URL?
}

extension SignOutReport: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The account and how the parts went, without the address, which holds the ID token.
    public var description: String {
        "signed out: \(account), revocation: \(revocation), browser session: \(browserSession)"
    }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The account and how the parts went.
    public var customMirror: Mirror { Mirror(self, children: ["report": description]) }
}

extension AccountStore {
    /// Signs an account out: removes it here, then asks the provider to forget its tokens, then the browser to end its session.
    ///
    /// - Parameters:
    ///   - id: the account.
    ///   - revoking: whether the provider is asked to forget the tokens.
    ///   - endingBrowserSession: whether the browser is sent where its session ends; nil: on a shared device, unless the provider
    ///     is not to be asked either. With neither of the two the network is not used.
    /// - Returns: What was done. The account is gone here even when the provider could not be reached.
    /// - Throws: ``AccountStoreError`` when the account could not be removed; then nothing was done.
    public func signOut(
        _ id: Account.ID, revoking: Bool = true, endingBrowserSession: Bool? = nil
    ) async throws -> SignOutReport {
        guard let read = try await failing("cannot sign out", { try await read(id) }) else { throw unknown(id) }
        let record = read.record
        // Newer tokens that could not be saved are the ones that the provider has to forget.
        let tokens = unsaved[id]?.tokens ?? record.tokens
        try await remove(id)
        let account = Account(record: record, position: read.position)
        // The client's own account has no session in any browser.
        let ends = endingBrowserSession ?? (revoking && deviceMode == .shared && record.renewal == nil)
        guard revoking || ends else {
            return SignOutReport(
                account: account, revocation: .skipped, browserSession: .skipped, endSessionURL: nil)
        }
        do {
            let type = try type(of: record)
            let connection = try await connection(to: type)
            // Its tokens are told to no other provider, though one has the type's name now.
            try checkSameProvider(record, type, connection.server)
            let url = EndSessionRequest.url(
                server: connection.server, client: connection.client, idToken: tokens.idToken)
            return SignOutReport(
                account: account,
                revocation: revoking ? await revoke(tokens, and: record.further ?? [], connection) : .skipped,
                browserSession: ends ? await endSession(url) : .skipped, endSessionURL: url)
        } catch {
            let failed = SignOutReport.Part.failed(Self.reason(error))
            return SignOutReport(
                account: account, revocation: revoking ? failed : .skipped, browserSession: ends ? failed : .skipped,
                endSessionURL: nil)
        }
    }

    private func endSession(_ url: URL?) async -> SignOutReport.Part {
        guard let url else { return .notOffered }
        do {
            try await dependencies.openBrowser(url)
            return .done
        } catch {
            return .failed(Self.reason(error))
        }
    }

    /// The refresh token first: most providers then forget the access token too.
    func revoke(
        _ tokens: TokenSet, and further: [CachedAccessToken] = [], _ connection: ProviderClient
    ) async -> SignOutReport.Part {
        var outcome = SignOutReport.Part.notOffered
        var requests: [(Secret, RevocationRequest.Hint)] = []
        if let refreshToken = tokens.refreshToken { requests.append((refreshToken, .refreshToken)) }
        let now = dependencies.now()
        for token in [tokens] + further.map(\.tokens) where token.expiry.map({ $0 > now }) ?? true || token == tokens {
            // Of what another program kept there may be the refresh token alone.
            if !token.accessToken.value.isEmpty { requests.append((token.accessToken, .accessToken)) }
        }
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
        _ token: Secret, _ hint: RevocationRequest.Hint, _ tokens: TokenSet, _ connection: ProviderClient
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
