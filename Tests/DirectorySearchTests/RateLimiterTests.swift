import Foundation
import HTTPExchange
import Testing

@testable import DirectorySearch

/// A service with a quota per ten seconds, and a clock that only delays advance.
private struct SimulatedService {
    let quota: Int
    /// The seconds that one batch takes.
    let latency: Double
    var now = testNow
    private var windowStart = testNow
    private var used = 0
    private(set) var accepted = 0
    private(set) var rejected = 0
    private(set) var longestPause = 0.0

    init(quota: Int, latency: Double) {
        self.quota = quota
        self.latency = latency
    }

    /// Sends batches of 20 for the given number of seconds, as a lookup does.
    mutating func run(_ limiter: RateLimiter, seconds: Double, others: Int = 0) {
        let end = now.addingTimeInterval(seconds)
        while now < end {
            let delay = limiter.take(20, now: now) / .seconds(1)
            longestPause = max(longestPause, delay)
            now.addTimeInterval(delay + latency)
            if now.timeIntervalSince(windowStart) >= 10 {
                windowStart.addTimeInterval((now.timeIntervalSince(windowStart) / 10).rounded(.down) * 10)
                used = others
            }
            var response = HTTPResponse(status: 200)
            if used + 20 > quota {
                rejected += 20
                response.status = 429
                response.fields["Retry-After"] = String(max(1, Int(10 - now.timeIntervalSince(windowStart))))
            } else {
                used += 20
                accepted += 20
            }
            let part = Double(used) / Double(quota)
            if part >= 0.8 { response.fields["x-ms-throttle-limit-percentage"] = String(part) }
            limiter.note(response, now: now)
        }
    }
}

@Suite struct RateLimiterTests {
    @Test func `without a throttle report there is no limit`() {
        let limiter = RateLimiter()
        for step in 0..<5000 {
            #expect(limiter.take(20, now: testNow.addingTimeInterval(Double(step) / 1000)) == .zero)
        }
        limiter.note(HTTPResponse(status: 200), now: testNow)
        #expect(limiter.take(20, now: testNow) == .zero)
    }

    @Test(arguments: [3500, 5000, 8000]) func `lookups use most of any quota`(quota: Int) {
        var service = SimulatedService(quota: quota, latency: 0.005)
        service.run(RateLimiter(), seconds: 300)
        #expect(Double(service.accepted) > 0.8 * 30 * Double(quota), "\(service.accepted)")
        #expect(Double(service.rejected) < 0.01 * Double(service.accepted), "\(service.rejected) rejected")
    }

    @Test func `the limiter does not slow down a slow service`() {
        var service = SimulatedService(quota: 3500, latency: 0.1)
        service.run(RateLimiter(), seconds: 100)
        #expect(service.accepted > 19_000 && service.rejected == 0)
    }

    @Test func `the rate falls while other clients use the quota, then recovers`() {
        var service = SimulatedService(quota: 5000, latency: 0.005)
        let limiter = RateLimiter()
        service.run(limiter, seconds: 100, others: 3500)
        let busy = service.accepted
        #expect(Double(service.rejected) < 0.05 * Double(busy), "\(service.rejected) of \(busy)")
        service.run(limiter, seconds: 100, others: 0)
        service.run(limiter, seconds: 100, others: 0)
        #expect(Double(service.accepted - busy) > 0.6 * 20 * 5000, "\(service.accepted - busy)")
    }

    @Test func `a 429 without a report stops all requests for its Retry-After`() {
        let limiter = RateLimiter()
        #expect(limiter.take(20, now: testNow) == .zero)
        limiter.note(HTTPResponse(status: 429, fields: ["Retry-After": "7"]), now: testNow)
        #expect(limiter.take(20, now: testNow) == .seconds(7))
        #expect(limiter.take(20, now: testNow.addingTimeInterval(8)) < .seconds(20))
    }

    @Test(arguments: ["nan", "-1", "1e308", "x", ""]) func `the limiter ignores an invalid report`(value: String) {
        let limiter = RateLimiter()
        _ = limiter.take(20, now: testNow)
        limiter.note(HTTPResponse(status: 200, fields: ["x-ms-throttle-limit-percentage": value]), now: testNow)
        #expect(limiter.take(20, now: testNow) == .zero)
    }

    @Test func `a fixed limit ignores reports`() {
        let limiter = RateLimiter(unitsPerTenSeconds: 100, burst: 50)
        limiter.note(HTTPResponse(status: 429, fields: ["Retry-After": "7"]), now: testNow)
        #expect(limiter.take(50, now: testNow) == .zero)
    }
}
