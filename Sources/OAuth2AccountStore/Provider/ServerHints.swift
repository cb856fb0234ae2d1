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
        let origin = Self.origin(url)
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
        let origin = Self.origin(url)
        return state.withLock { $0.offsets[origin] }
    }

    /// The server's last nonce for proofs (RFC 9449 section 8.2).
    func nonce(for url: URL) -> String? { state.withLock { $0.nonces.nonce(for: url) } }

    /// Scheme, host and port, the scheme's own where none is written.
    static func origin(_ url: URL) -> String {
        let scheme = url.scheme?.lowercased() ?? ""
        let port = url.port ?? ["https": 443, "http": 80][scheme] ?? 0
        return "\(scheme)://\(url.host(percentEncoded: true)?.lowercased() ?? ""):\(port)"
    }
}

extension URL {
    /// Whether scheme, host and port are the same (RFC 6454 section 5).
    func hasOrigin(of other: URL) -> Bool { ServerHints.origin(self) == ServerHints.origin(other) }
}
