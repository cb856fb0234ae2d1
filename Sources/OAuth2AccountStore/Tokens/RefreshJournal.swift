import HTTPExchange
import OAuth2Protocol

/// A refresh that the storage knows of before the provider does.
///
/// Between the moment in which a provider rotates a refresh token and the one in which its answer is saved, the process can be
/// killed, or the connection can break: then only the provider has the token that is good. So before a refresh is sent, the
/// storage keeps a mark that this refresh token was sent. Who finds the mark later tries the old token again, which many
/// providers take for a while, and when it is refused, knows why.
struct RefreshJournal: Sendable {
    /// The name of the value in the storage.
    let name: String
    /// A digest of the tokens that the refresh is to replace. New tokens make another one, so an old mark means nothing.
    let mark: [UInt8]
    /// Whether the answer to an earlier refresh with the same token never arrived.
    let isRepeated: Bool

    /// Why the person has to sign in after the provider refused the token, told that the answer may have been lost.
    func reason(_ told: Account.SignInReason) -> Account.SignInReason {
        told == .grantGone && isRepeated ? .answerLost : told
    }

    static func name(_ id: Account.ID) -> String { "attempt:\(id)" }

    /// Whether the provider surely gave no new tokens: it said so, or the request never reached it.
    static func isRefusal(_ error: any Error) -> Bool {
        func isRefusal(_ status: Int) -> Bool { status < 500 || status == 503 }
        switch error {
        case OAuth2Error.provider(let error): return isRefusal(error.status ?? 400)
        case OAuth2Error.http(let status, _): return isRefusal(status)
        case let error as HTTPTransportError:
            return [.cannotResolveHost, .cannotConnect, .tls, .proxy, .plainHTTPRefused, .invalidRequest]
                .contains(error.kind)
        default: return false
        }
    }
}

extension AccountStore {
    /// Finds out whether new tokens could be saved, and leaves the mark, in one transaction where the storage can. The account's
    /// lock is held.
    ///
    /// - Returns: Nil when the tokens are renewed without a refresh token: then nothing can be lost.
    func beginAttempt(_ record: AccountRecord) async throws -> RefreshJournal? {
        guard record.renewal == nil, let refreshToken = record.tokens.refreshToken,
            let mark = seal.identities.digest(
                purpose: "refresh-attempt-1",
                Array("\(refreshToken.value.utf8.count):\(refreshToken.value)\(record.tokens.accessToken.value)".utf8))
        else {
            try await storage.checkWritable()
            return nil
        }
        let name = RefreshJournal.name(record.id)
        let isRepeated = try await storage.value(name) == mark
        if isRepeated {
            try await storage.checkWritable()
        } else if let storage = storage as? any AtomicValueWrites {
            try await storage.checkWritable(setting: mark, for: name)
        } else {
            try await storage.checkWritable()
            try await storage.setValue(mark, for: name)
        }
        return RefreshJournal(name: name, mark: mark, isRepeated: isRepeated)
    }

    /// Sends a refresh, and takes the mark back when it surely brought no new tokens. The mark of an earlier one stays.
    func attempted<Result: Sendable>(
        _ attempt: RefreshJournal?, _ send: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await send()
        } catch {
            if let attempt, !attempt.isRepeated, RefreshJournal.isRefusal(error) {
                // If that fails, the reason that is told one day is less exact, and nothing else is.
                try? await storage.setValue(nil, for: attempt.name)
            }
            throw error
        }
    }
}
