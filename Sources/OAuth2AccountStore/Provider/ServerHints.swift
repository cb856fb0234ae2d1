import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import Synchronization

extension HTTPResponse {
    /// Returns the response with `Retry-After` in seconds if the field has a date and the response has no `Date` field.
    /// The delay is then relative to this machine's clock.
    func resolvingRetryAfter(now: Date) -> HTTPResponse {
        guard fields["Retry-After"] != nil, retryAfter() == nil, let delay = retryAfter(now: now) else { return self }
        var response = self
        response.fields["Retry-After"] = String(delay.wholeSeconds)
        return response
    }
}

/// The clock offsets and the last DPoP nonces of servers, from their responses.
final class ServerHints: Sendable {
    private static let capacity = 64
    /// The minimum offset that counts, in seconds. The `Date` field has whole seconds, and the response takes time.
    private static let minimumOffset = 5.0

    private struct State {
        var nonces = DPoPNonces()
        var offsets: [String: Double] = [:]
    }
    private let state = Mutex(State())
    let ages = MonotonicAge()
    let detected = DetectedService()

    func note(_ response: HTTPResponse, from url: URL, now: Date) {
        let origin = url.origin ?? ""
        let offset = response.fields["Date"].flatMap(HTTPDate.parse).map { $0.timeIntervalSince(now) }
        state.withLock { state in
            state.nonces.note(response, from: url)
            guard let offset else { return }
            if state.offsets.count >= Self.capacity, state.offsets[origin] == nil { state.offsets.removeAll() }
            state.offsets[origin] = abs(offset) < Self.minimumOffset ? 0 : offset
        }
    }

    /// Returns the number of seconds by which the server's clock is ahead of this machine's clock, or 0 if it is
    /// unknown.
    func offset(of url: URL) -> Double { knownOffset(of: url) ?? 0 }

    /// Returns the number of seconds by which the server's clock is ahead, or `nil` if the server did not send the
    /// time.
    func knownOffset(of url: URL) -> Double? {
        let origin = url.origin ?? ""
        return state.withLock { $0.offsets[origin] }
    }

    func nonce(for url: URL) -> String? { state.withLock { $0.nonces.nonce(for: url) } }
}
