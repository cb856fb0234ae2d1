import OAuth2Protocol
import Synchronization

/// What happened to the accounts of a store, told after it was saved.
public enum AccountEvent: Sendable {
    /// An account was added.
    case added(Account)
    /// An account was removed.
    case removed(Account.ID, type: String)
    /// An account has new tokens.
    case accessTokenChanged(Account)
    /// An account needs a sign-in: its refresh token is no longer accepted.
    case accessTokenLost(Account)
    /// The app's own data of an account changed.
    case userDataChanged(Account)
    /// An account was signed in again: name, claims or scope may be new.
    case profileChanged(Account)
    /// A sign-in failed.
    case signInFailed(type: String, any Error)
    /// A fresh access token could not be had. The account is unchanged.
    case accessTokenFailed(Account, any Error)
    /// So many changes were made by another process that they are not listed: look at the accounts again.
    case manyChanges
}

/// Hands events to every stream.
final class EventBroadcaster: Sendable {
    private struct State {
        var next = 0
        var streams: [Int: AsyncStream<AccountEvent>.Continuation] = [:]
    }
    private let state = Mutex(State())

    /// A stream that has every event from now on. It keeps what is not read yet, without a limit.
    func stream() -> AsyncStream<AccountEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: AccountEvent.self, bufferingPolicy: .unbounded)
        let number = state.withLock { state in
            state.next += 1
            state.streams[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: number) }
        }
        return stream
    }

    func send(_ event: AccountEvent) {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.yield(event) }
    }

    func finish() {
        let streams = state.withLock { Array($0.streams.values) }
        for stream in streams { stream.finish() }
    }
}
