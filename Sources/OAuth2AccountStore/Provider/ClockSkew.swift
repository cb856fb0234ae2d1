import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import Synchronization

/// The difference between this machine's clock and a provider's clock, from the `Date` header field of its responses.
///
/// The store computes the age of tokens with this machine's clock only, so a wrong clock does no harm. It dates
/// assertions and proofs by the provider's clock. The store remembers the difference while it is open, and never saves
/// it.
///
/// See [RFC 9110 section 6.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1).
public struct ClockSkew: Sendable, Equatable {
    /// The maximum difference that needs no correction.
    public static let allowed = Duration.seconds(60)

    /// The time by which the provider's clock is ahead of this machine's clock. A difference of less than 5 seconds
    /// counts as zero.
    public let difference: Duration

    /// Creates a difference in seconds, at most 31,000 years.
    package init(seconds: Double) { difference = .seconds(min(max(seconds, -1e12), 1e12)) }

    private var seconds: Double { difference / .seconds(1) }

    /// Whether the user should set this machine's clock.
    public var isNotable: Bool { difference > Self.allowed || difference < .zero - Self.allowed }

    /// The difference as a phrase, such as "this machine's clock is 86400 s behind the provider's".
    public var explanation: String {
        let whole = Int(min(abs(seconds), 1e12).rounded())
        guard whole > 0 else { return "this machine's clock agrees with the provider's" }
        return "this machine's clock is \(whole) s \(seconds > 0 ? "behind" : "ahead of") the provider's"
    }
}

/// The age of tokens by the monotonic clock and the wall clock: the greater of the two. The wall clock can be set back,
/// and the monotonic clock can stop while the machine sleeps.
final class MonotonicAge: Sendable {
    private static let capacity = 1_000
    /// The main token of an account, its additional tokens, and a previous token that is still in use.
    private static let tokensPerAccount = AdditionalTokens.maximumCount + 2

    private struct Seen {
        let token: Secret
        /// The age by the wall clock when the token was first seen, in seconds.
        let age: Double
        let uptime: Double
    }
    private let seen = Mutex<[Account.ID: [Seen]]>([:])

    func now(forAgeOf tokens: TokenSet, account id: Account.ID, wall: Date, uptime: Double) -> Date {
        let age = wall.timeIntervalSince(tokens.received)
        return seen.withLock { seen in
            guard let first = seen[id]?.first(where: { $0.token == tokens.accessToken }), uptime >= first.uptime else {
                let known = seen[id] ?? []
                if seen.count >= Self.capacity, seen[id] == nil { seen.removeAll() }
                // A token from the future has no known age. Use the wall clock.
                let new = age < 0 ? [] : [Seen(token: tokens.accessToken, age: age, uptime: uptime)]
                let entries = known.filter { $0.token != tokens.accessToken }.suffix(Self.tokensPerAccount - 1) + new
                seen[id] = entries.isEmpty ? nil : Array(entries)
                return wall
            }
            let minimum = first.age + (uptime - first.uptime)
            return age < minimum ? tokens.received.addingTimeInterval(minimum) : wall
        }
    }
}

extension ServerHints {
    /// The minimum change of the known offset that justifies another attempt, in seconds.
    private static let notableChange = 30.0

    /// Returns whether a rejected request was dated by a wrong clock, because its response changed the known offset.
    ///
    /// - Parameter before: The clock offset with which the request was dated, in seconds.
    func correctsClock(_ response: HTTPResponse, from url: URL, before: Double) -> Bool {
        (response.status == 400 || response.status == 401) && abs(offset(of: url) - before) > Self.notableChange
    }
}
