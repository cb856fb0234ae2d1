/// The parts of a time in UTC, with a precision of one second. The years are 0 to 9999.
package struct UTCDate {
    package let year: Int
    package let month: Int
    package let day: Int
    /// The day of the week, 0 for Sunday.
    package let weekday: Int
    /// The time of the day, such as `08:49:37`.
    package let time: String

    /// Creates the parts of a time. A time before year 0 becomes its first second, and a time after year 9999 its last.
    package init(secondsSince1970 seconds: Int) {
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
        let secondOfDay = (seconds % 86_400 + 86_400) % 86_400
        let days = (seconds - secondOfDay) / 86_400
        weekday = ((days + 4) % 7 + 7) % 7
        time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { Self.digits($0, 2) }
            .joined(separator: ":")
        // In this calculation a year starts in March, so that the leap day is its last day. An era has 400 years.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    }

    /// Returns a number padded with zeros to this many digits.
    package static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension Date {
    /// The time in UTC to the second, such as `2026-11-20T11:02:00Z`.
    ///
    /// See RFC 3339.
    package var rfc3339: String {
        let seconds = timeIntervalSince1970
        let date = UTCDate(secondsSince1970: Int(seconds.isNaN ? 0 : max(-1e11, min(1e12, seconds.rounded(.down)))))
        let day = [UTCDate.digits(date.year, 4), UTCDate.digits(date.month, 2), UTCDate.digits(date.day, 2)]
        return "\(day.joined(separator: "-"))T\(date.time)Z"
    }

    /// Creates a date from its parts in UTC, or returns `nil` if the day or time does not exist or the year is not
    /// 1 to 9999.
    ///
    /// - Parameter time: Hours, minutes and seconds, such as `08:49:37`.
    package init?(year: Int, month: Int, day: Int, time: Substring) {
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
        self.init(timeIntervalSince1970: Double((days - 719_162) * 86400 + hour * 3600 + minute * 60 + second))
    }
}
