import Foundation
import LodgePlatform
import Testing

@testable import CommandLineKit

@Suite struct TimeTextTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (1_795_172_520.9, "2026-11-20T11:02:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (-0.5, "1969-12-31T23:59:59Z"), (253_402_300_799, "9999-12-31T23:59:59Z"), (1e300, "9999-12-31T23:59:59Z"),
            (-1e300, "0000-01-01T00:00:00Z"), (.infinity, "9999-12-31T23:59:59Z"), (.nan, "1970-01-01T00:00:00Z"),
        ] as [(Double, String)])
    func `rfc3339 formats a date in UTC`(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).rfc3339 == text)
    }

    @Test func `dates of eight centuries follow the Gregorian calendar`() {
        for day in stride(from: -141_427, through: 146_097, by: 37) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400)
            #expect(date.rfc3339 == date.formatted(.iso8601))
        }
    }

    @Test(
        arguments: [
            (3599, "in 59 min", "expires in 59 min"), (-3600, "1 h ago", "expired 1 h ago"),
            (0.5, "now", "expires now"),
            (-0.5, "now", "expires now"), (45, "in 45 s", "expires in 45 s"), (60, "in 1 min", "expires in 1 min"),
            (172_799, "in 47 h", "expires in 47 h"), (172_800, "in 2 d", "expires in 2 d"),
            (-86_400 * 400, "400 d ago", "expired 400 d ago"), (1e300, "in 11574074074 d", "expires in 11574074074 d"),
        ] as [(Double, String, String)])
    func `a relative time uses its largest unit`(seconds: Double, age: String, expiry: String) {
        let now = Date(timeIntervalSinceReferenceDate: 0)
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        #expect(TimeText.relative(date, to: now) == age)
        #expect(TimeText.expiry(date, now: now) == expiry)
    }
}
