import HTTPExchange
import OAuth2Protocol
import SealedStorage

/// The journal of refreshes: an entry is written before the request and removed after the save or a definite rejection.
///
/// Between the moment in which a provider rotates a refresh token and the moment in which its response is saved, the process can be
/// killed or the connection can break: then only the provider has the valid token. A later refresh that finds the entry sends the old
/// token again, which many providers accept for a while, and if the provider rejects it, the store knows why.
struct RefreshJournal: Sendable {
    let storage: any AccountStorage
    let seal: RecordSeal

    struct Entry: Sendable {
        /// The name of the value in the storage.
        let name: String
        /// Whether the response to an earlier refresh with the same token never arrived.
        let isRepeated: Bool

        /// Returns the reason to sign in after the provider rejected the token: possibly a lost response.
        func reason(_ rejection: Account.SignInReason) -> Account.SignInReason {
            rejection == .grantGone && isRepeated ? .answerLost : rejection
        }
    }

    /// Returns the name of the entry of an account; each policy has its own.
    static func name(_ id: Account.ID, policy: String? = nil) -> String {
        "attempt:\(id)" + (policy.map { ":\($0)" } ?? "")
    }

    /// Checks that new tokens can be saved and writes the entry, in one transaction if the storage supports that. The caller holds
    /// the account's lock.
    ///
    /// - Parameter policy: The policy that the record has selected, if it is not the account's own.
    /// - Returns: `nil` if the tokens are refreshed without a refresh token: then none can be lost.
    func write(_ record: AccountRecord, policy: String? = nil) async throws -> Entry? {
        // A digest of the tokens that the refresh replaces. New tokens have another digest, so that an old entry means nothing.
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

    /// Sends a refresh, and removes the entry if the refresh certainly returned no tokens. The entry of an earlier refresh remains.
    func send<Value: Sendable>(_ entry: Entry?, _ send: () async throws -> Value) async throws -> Value {
        do {
            return try await send()
        } catch {
            // If this write fails, a later reason to sign in is less exact, and nothing else is.
            if let entry, !entry.isRepeated, Self.isDefiniteRejection(error) { try? await remove(entry.name) }
            throw error
        }
    }

    func remove(_ name: String) async throws { try await storage.setValue(nil, for: name) }

    /// The statuses of a gateway that received no response of the provider: 502 and 504 (RFC 9110 section 15.6), and Cloudflare's 520
    /// and 524.
    private static let gatewayStatuses: Set<Int> = [502, 504, 520, 524]

    /// Returns whether no response with new tokens can be lost: the provider itself responded with an error, or the request never
    /// reached it.
    ///
    /// Also after a 500 or a 503 the response of the provider has arrived. An error within the provider can have followed a rotation;
    /// then the provider lost the tokens, and what it says about the old ones is the exact reason to sign in.
    private static func isDefiniteRejection(_ error: any Error) -> Bool {
        func isRejection(_ status: Int) -> Bool { !gatewayStatuses.contains(status) }
        switch error {
        case OAuth2Error.provider(let error): return isRejection(error.status ?? 400)
        case OAuth2Error.http(let status, _): return isRejection(status)
        case let error as HTTPTransportError:
            return [.cannotResolveHost, .cannotConnect, .tls, .proxy, .plainHTTPRefused, .invalidRequest]
                .contains(error.kind)
        default: return false
        }
    }
}
