import Platform
import HTTPExchange
import OAuth2Protocol
import Synchronization

/// What servers say in passing: how far their clock is from this machine's, and their last DPoP nonce.
final class ServerHints: Sendable {
    /// How many servers' clocks are remembered.
    private static let capacity = 64
    /// The least difference that counts, in seconds. The field has whole seconds, and the answer took its time.
    private static let leastOffset = 5.0

    private struct State {
        var nonces = DPoPNonces()
        var offsets: [String: Double] = [:]
    }
    private let state = Mutex(State())
    /// When tokens were first seen.
    let ages = MonotonicAge()

    /// Looks at an answer of this address.
    func note(_ response: HTTPResponse, from url: URL, now: Date) {
        let origin = url.origin ?? ""
        let offset = response.fields["Date"].flatMap(HTTPDate.parse).map { $0.timeIntervalSince(now) }
        state.withLock { state in
            state.nonces.note(response, from: url)
            guard let offset else { return }
            if state.offsets.count >= Self.capacity, state.offsets[origin] == nil { state.offsets.removeAll() }
            state.offsets[origin] = abs(offset) < Self.leastOffset ? 0 : offset
        }
    }

    /// How many seconds the server's clock is ahead of this machine's; 0 when that is not known.
    func offset(of url: URL) -> Double { knownOffset(of: url) ?? 0 }

    /// The same; nil when the server did not tell the time.
    func knownOffset(of url: URL) -> Double? {
        let origin = url.origin ?? ""
        return state.withLock { $0.offsets[origin] }
    }

    /// The server's last nonce for proofs (RFC 9449 section 8.2).
    func nonce(for url: URL) -> String? { state.withLock { $0.nonces.nonce(for: url) } }
}
