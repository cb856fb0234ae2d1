import Platform
import HTTPExchange
import OAuth2Protocol
import Synchronization

/// How far this machine's clock is from a provider's, as the `Date` field of its answers tells.
///
/// Tokens are judged by their age here, so that a clock that is off does no harm; assertions and proofs are dated by the
/// provider's clock. The difference is remembered while the store is open and never saved.
///
/// [RFC 9110 section 6.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1)
public struct ClockSkew: Sendable, Equatable {
    /// The maximum difference that is not notable.
    public static let allowed = Duration.seconds(60)

    /// The time by which the provider's clock is ahead of this machine's; less than 5 s count as none.
    public let difference: Duration

    /// Creates a difference in seconds, at most 31,000 years.
    package init(seconds: Double) { difference = .seconds(min(max(seconds, -1e12), 1e12)) }

    private var seconds: Double { difference / .seconds(1) }

    /// Whether the user should set this machine's clock.
    public var isNotable: Bool { difference > Self.allowed || difference < .zero - Self.allowed }

    /// The difference in words: "this machine's clock is 86400 s behind the provider's".
    public var explanation: String {
        let whole = Int(min(abs(seconds), 1e12).rounded())
        guard whole > 0 else { return "this machine's clock agrees with the provider's" }
        return "this machine's clock is \(whole) s \(seconds > 0 ? "behind" : "ahead of") the provider's"
    }
}

/// The age of tokens by the monotonic clock and the wall clock, whichever is greater: the wall clock can be set back, the other one
/// can stop while the machine sleeps.
final class MonotonicAge: Sendable {
    private static let capacity = 1_000
    /// The main token of an account, its additional ones, and a predecessor that is still in use.
    private static let tokensPerAccount = AdditionalTokens.maximumCount + 2

    private struct Seen {
        let token: Secret
        /// The age by the wall clock, in seconds.
        let age: Double
        let uptime: Double
    }
    private let seen = Mutex<[Account.ID: [Seen]]>([:])

    func now(forAgeOf tokens: TokenSet, account id: Account.ID, wall: Date, uptime: Double) -> Date {
        let age = wall.timeIntervalSince(tokens.received)
        return seen.withLock { seen in
            let known = seen[id] ?? []
            guard let first = known.first(where: { $0.token == tokens.accessToken }), uptime >= first.uptime else {
                if seen.count >= Self.capacity, seen[id] == nil { seen.removeAll() }
                // Tokens from the future have no known age: the wall clock decides.
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
    /// The change of the known offset that justifies another attempt, in seconds.
    private static let notableChange = 30.0

    /// Returns whether a rejection has another time than the request was dated by, with the clock offset `before`.
    func correctsClock(_ response: HTTPResponse, from url: URL, before: Double) -> Bool {
        (response.status == 400 || response.status == 401) && abs(offset(of: url) - before) > Self.notableChange
    }
}
