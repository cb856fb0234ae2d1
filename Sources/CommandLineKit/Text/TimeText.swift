import Platform

package enum TimeText {
    /// The time in UTC to the second, `2026-11-20T11:02:00Z` (RFC 3339). Times before the year 0 or after 9999 become the
    /// nearest one that can be written.
    package static func rfc3339(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        let minimum = -62_167_219_200.0
        let maximum = 253_402_300_799.0
        let whole = seconds.isNaN ? 0 : Int(max(minimum, min(maximum, seconds.rounded(.down))))
        let secondOfDay = ((whole % 86_400) + 86_400) % 86_400
        let date = CivilDate(daysSince1970: (whole - secondOfDay) / 86_400)
        let time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { digits($0, 2) }
        return "\(digits(date.year, 4))-\(digits(date.month, 2))-\(digits(date.day, 2))T\(time.joined(separator: ":"))Z"
    }

    /// How far a time is from now, in its largest unit, rounded towards now: `in 59 min`, `5 s ago`, `now`.
    static func relative(_ date: Date, to now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        guard seconds.isFinite else { return seconds > 0 ? "never" : "long ago" }
        guard let amount = span(seconds: abs(seconds)) else { return "now" }
        return seconds > 0 ? "in \(amount)" : "\(amount) ago"
    }

    /// When a token ends: `expires in 59 min`, `expired 2 h ago`, `expires now`.
    package static func expiry(_ date: Date, now: Date) -> String {
        (date < now && relative(date, to: now) != "now" ? "expired " : "expires ") + relative(date, to: now)
    }

    /// `45 s`, `59 min`, `23 h`, `12 d`; nil for less than a second. Up to two days are told in hours.
    static func span(seconds: Double) -> String? {
        guard seconds >= 1 else { return nil }
        let whole = Int(min(seconds, 1e15))
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3600: return "\(whole / 60) min"
        case ..<172_800: return "\(whole / 3600) h"
        default: return "\(whole / 86_400) d"
        }
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = "\(number)"
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
