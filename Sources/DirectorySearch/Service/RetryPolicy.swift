import HTTPExchange
import Synchronization

/// When a request is sent again: after 429, 503 and 504, and after a connection that failed, never after anything else.
public struct RetryPolicy: Sendable, Equatable {
    /// How often one request is sent again, 0 to 10.
    public var maximumRetries: Int {
        didSet { maximumRetries = min(max(maximumRetries, 0), 10) }
    }
    /// The wait before the first retry when the service names none; doubled each time.
    public var firstDelay: Duration
    /// The longest single wait. If the service asks for more, the failure is given at once and says when to come back.
    public var maximumDelay: Duration
    /// The longest time that all waits of one operation may take together, its further pages included.
    public var totalDelay: Duration

    /// A policy; without arguments, that of Microsoft's own libraries, with at most a minute of waiting in all.
    public init(
        maximumRetries: Int = 3, firstDelay: Duration = .seconds(3), maximumDelay: Duration = .seconds(180),
        totalDelay: Duration = .seconds(60)
    ) {
        self.maximumRetries = min(max(maximumRetries, 0), 10)
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
        self.totalDelay = totalDelay
    }

    /// Every failure is final.
    public static let never = RetryPolicy(maximumRetries: 0)

    /// Whether an answer of this status may be asked for again.
    func retries(_ status: Int) -> Bool { status == 429 || status == 503 || status == 504 }

    /// Whether a request may be sent again after this failure: where another connection may do what this one did not. A name that
    /// cannot be found, a certificate that is not trusted and a service that takes its time stay what they are.
    func retries(_ failure: HTTPTransportError.Kind) -> Bool { failure == .cannotConnect || failure == .connectionLost }

    /// How often a request is sent again after connections that failed: a person without a network should not wait long to be told.
    var maximumConnectionRetries: Int { min(maximumRetries, 2) }

    /// The wait before another connection.
    func connectionDelay(retry: Int, random: Double) -> Duration {
        var quick = self
        quick.firstDelay = min(firstDelay, .milliseconds(250))
        return quick.delay(retry: retry, asked: nil, random: random)
    }

    /// The wait before a retry.
    ///
    /// - Parameters:
    ///   - retry: 0 for the first.
    ///   - asked: what the service asked for. Taken as it is: it knows.
    ///   - random: 0 to 1, so that many programs turned away at once do not return at once.
    func delay(retry: Int, asked: Duration?, random: Double) -> Duration {
        if let asked { return asked }
        let doubled = firstDelay.seconds * Double(1 << min(max(retry, 0), 10))
        let spread = 0.75 + 0.5 * (random.isFinite ? min(max(random, 0), 1) : 0.5)
        return .milliseconds(Int64((min(doubled * spread, maximumDelay.seconds) * 1000).rounded(.up)))
    }
}

/// How much waiting is left. One budget can be shared by all requests of a command, also by concurrent ones.
public final class RetryBudget: Sendable {
    private let left: Mutex<Duration>

    /// A budget of this much waiting.
    public init(_ total: Duration) { left = Mutex(total) }

    /// Takes a wait from the budget, and says whether it was still in it.
    func take(_ wait: Duration) -> Bool {
        left.withLock { left in
            guard wait <= left else { return false }
            left -= wait
            return true
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
