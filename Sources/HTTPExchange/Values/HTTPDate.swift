import Platform

/// Dates as HTTP writes them.
///
/// [RFC 9110 section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7)
public enum HTTPDate {
    /// The date of a text in any of the three forms; nil when it is none.
    public static func parse(_ text: String) -> Date? {
        guard text.utf8.count <= 64 else { return nil }
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" }
        guard parts.count >= 5 else { return nil }
        if let month = month(parts[1]), let day = Int(parts[2]), let year = Int(parts[4]) {
            return date(year, month, day, time: parts[3])
        }
        guard parts.count >= 5, let day = Int(parts[1]), let month = month(parts[2]), var year = Int(parts[3]) else {
            return nil
        }
        if parts[3].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
        return date(year, month, day, time: parts[4])
    }

    /// Returns a date as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ secondsSince1970: Int) -> String {
        let seconds = min(max(secondsSince1970, 0), 253_402_300_799)
        let (days, time) = (seconds / 86_400, seconds % 86_400)
        let date = CivilDate(daysSince1970: days)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(weekdays[days % 7]), \(two(date.day)) \(months[date.month - 1]) \(date.year) "
            + "\(two(time / 3_600)):\(two(time / 60 % 60)):\(two(time % 60)) GMT"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func month(_ name: Substring) -> Int? { months.firstIndex { $0 == name }.map { $0 + 1 } }

    /// A moment in UTC; `time` is `hours:minutes:seconds`. Nil when there is no such day or time.
    package static func date(_ year: Int, _ month: Int, _ day: Int, time: Substring) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...9999).contains(year), (1...12).contains(month), clock.count == 3,
            let hour = Int(clock[0]), let minute = Int(clock[1]), let second = Int(clock[2]),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...lengths[month - 1]).contains(day) else { return nil }
        let before = year - 1
        var days = before * 365 + before / 4 - before / 100 + before / 400
        days += lengths.prefix(month - 1).reduce(0, +) + day - 1
        // 719,162 days lie between 0001-01-01 and 1970-01-01.
        return Date(timeIntervalSince1970: Double((days - 719_162) * 86400 + hour * 3600 + minute * 60 + second))
    }
}
