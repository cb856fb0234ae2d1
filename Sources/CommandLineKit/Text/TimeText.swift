import LodgePlatform

/// Formats times relative to now.
package enum TimeText {
    /// Returns a relative time in its largest unit, rounded towards now: `in 59 min`, `5 s ago`, `now`.
    package static func relative(_ date: Date, to now: Date) -> String {
        let seconds = date.timeIntervalSince(now)
        guard seconds.isFinite else { return seconds > 0 ? "never" : "long ago" }
        guard let amount = span(seconds: abs(seconds)) else { return "now" }
        return seconds > 0 ? "in \(amount)" : "\(amount) ago"
    }

    /// Returns the expiry of a token: `expires in 59 min`, `expired 2 h ago`, `expires now`.
    package static func expiry(_ date: Date, now: Date) -> String {
        (date < now && relative(date, to: now) != "now" ? "expired " : "expires ") + relative(date, to: now)
    }

    /// Returns a duration: `143 ms`, `2.1 s`, `20 s`.
    package static func seconds(_ duration: Duration) -> String {
        let milliseconds = max(0, (duration / .milliseconds(1)).rounded())
        if milliseconds < 1000 { return "\(Int(milliseconds)) ms" }
        let tenths = Int((min(milliseconds, 1e15) / 100).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }

    /// Returns a time span such as `45 s`, `59 min`, `23 h` or `12 d`, or `nil` for less than a second.
    ///
    /// Up to two days are in hours.
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
}
