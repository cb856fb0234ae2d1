import HTTPExchange
import OAuth2Protocol
import SealedStorage

/// The journal of refreshes. The store writes an entry before the request, and removes it after it saves the tokens or
/// receives a definite error.
///
/// If the process ends or the connection breaks after the provider has rotated a refresh token and before the response
/// is saved, only the provider has the valid token. A later refresh that finds the entry sends the old token again,
/// which many providers accept for a while. If the provider rejects it, the entry explains why.
struct RefreshJournal: Sendable {
    let storage: any AccountStorage
    let seal: RecordSeal

    struct Entry: Sendable {
        /// The name of the value in the storage.
        let name: String
        /// Whether the response to an earlier refresh with the same token was lost.
        let isRepeated: Bool

        /// Returns the reason to sign in again after the provider rejected the token. If an earlier response was lost,
        /// that can be the reason.
        func reason(_ rejection: Account.SignInReason) -> Account.SignInReason {
            rejection == .grantGone && isRepeated ? .answerLost : rejection
        }
    }

    /// Returns the name of the journal entry of an account. Each policy has its own entry.
    static func name(_ id: Account.ID, policy: String? = nil) -> String {
        "attempt:\(id)" + (policy.map { ":\($0)" } ?? "")
    }

    /// Checks that new tokens can be saved and writes the entry, in one transaction if the storage supports it. The
    /// caller holds the account's lock.
    ///
    /// - Parameters:
    ///   - record: The record, with the policy selected.
    ///   - policy: The selected policy, if it is not the account's own.
    /// - Returns: The entry, or `nil` for a refresh without a refresh token, which can lose no token.
    func write(_ record: AccountRecord, policy: String? = nil) async throws -> Entry? {
        // The digest covers the tokens that the refresh replaces. New tokens have another digest, so an old entry does
        // not match them.
        guard record.serviceGrant == nil, let refreshToken = record.tokens.refreshToken,
            let digest = seal.identities.digest(
                purpose: "refresh-attempt-1",
                Array("\(refreshToken.value.utf8.count):\(refreshToken.value)\(record.tokens.accessToken.value)".utf8))
        else {
            try await storage.checkWritable()
            return nil
        }
        let name = Self.name(record.id, policy: policy)
        let isRepeated = try await storage.value(name) == digest
        if isRepeated {
            try await storage.checkWritable()
        } else if let storage = storage as? any AtomicValueWrites {
            try await storage.checkWritable(setting: digest, for: name)
        } else {
            try await storage.checkWritable()
            try await storage.setValue(digest, for: name)
        }
        return Entry(name: name, isRepeated: isRepeated)
    }

    /// Sends a refresh. If it fails and the provider certainly issued no tokens, removes the entry, unless the entry is
    /// of an earlier refresh.
    func send<Value: Sendable>(_ entry: Entry?, _ send: () async throws -> Value) async throws -> Value {
        do {
            return try await send()
        } catch {
            // If this write fails, the only effect is a less exact reason to sign in later.
            if let entry, !entry.isRepeated, Self.isDefiniteRejection(error) { try? await remove(entry.name) }
            throw error
        }
    }

    func remove(_ name: String) async throws { try await storage.setValue(nil, for: name) }

    /// The statuses with which a gateway reports that it received no response: 502 and 504 (RFC 9110 section 15.6), and
    /// Cloudflare's 520 and 524.
    private static let gatewayStatuses: Set<Int> = [502, 504, 520, 524]

    /// Returns whether an error excludes a lost response with new tokens: the provider itself returned the error, or
    /// did not receive the request.
    ///
    /// This includes a 500 and a 503 of the provider. An internal error can follow a rotation, but then the provider
    /// has lost the new tokens, and its error for the old token is the exact reason to sign in.
    private static func isDefiniteRejection(_ error: any Error) -> Bool {
        func isRejection(_ status: Int) -> Bool { !gatewayStatuses.contains(status) }
        switch error {
        case OAuth2Error.provider(let error): return isRejection(error.status ?? 400)
        case OAuth2Error.http(let status, _): return isRejection(status)
        // The client has no assertion, so it sent no request.
        case is SettingsError: return true
        case let error as HTTPTransportError:
            return [.cannotResolveHost, .cannotConnect, .tls, .proxy, .plainHTTPRefused, .invalidRequest]
                .contains(error.kind)
        default: return false
        }
    }
}
