import OAuth2Protocol
import Synchronization

/// A change of the accounts of a store, published after it is saved.
public enum AccountEvent: Sendable {
    /// An account was added.
    case added(Account)
    /// An account was removed.
    case removed(Account.ID, type: String)
    /// An account has new tokens.
    case accessTokenChanged(Account)
    /// An account needs a sign-in: the provider no longer accepts its refresh token.
    case accessTokenLost(Account)
    /// The app's own data of an account changed.
    case userDataChanged(Account)
    /// The user signed in again or renamed the account: names, claims or scope can be new.
    case profileChanged(Account)
    /// A sign-in failed.
    case signInFailed(type: String, any Error)
    /// The refresh of an access token failed. The account is unchanged.
    case accessTokenFailed(Account, any Error)
    /// Another process made too many changes to list them: read the accounts again.
    case manyChanges
}

/// Sends events to all streams of ``AccountStore/events()``.
final class EventBroadcaster: Sendable {
    private struct State {
        var next = 0
        var streams: [Int: AsyncStream<AccountEvent>.Continuation] = [:]
    }
    private let state = Mutex(State())

    /// Returns a stream of all events from now on. It buffers unread events without a limit.
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
