import Platform

package enum TimeText {
    /// The time in UTC to the second, `2026-11-20T11:02:00Z` (RFC 3339). Times before the year 0 or after 9999 become the
    /// nearest one that can be written.
    package static func rfc3339(_ date: Date) -> String {
        let seconds = date.timeIntervalSince1970
        let least = -62_167_219_200.0
        let most = 253_402_300_799.0
        let whole = seconds.isNaN ? 0 : Int(max(least, min(most, seconds.rounded(.down))))
        let secondOfDay = ((whole % 86_400) + 86_400) % 86_400
        let (year, month, day) = civil(days: (whole - secondOfDay) / 86_400)
        let time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { digits($0, 2) }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))T\(time.joined(separator: ":"))Z"
    }

    /// How far a time is from now, in its largest unit, rounded towards now: `in 59 min`, `5 s ago`, `now`.
    static func relative(_ date: Date, to now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        guard seconds.isFinite else { return seconds > 0 ? "never" : "long ago" }
        let amount = span(seconds: abs(seconds))
        guard let amount else { return "now" }
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

    /// The Gregorian date of a day counted from 1 January 1970. Years begin in March here, so that the leap day is the last.
    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
