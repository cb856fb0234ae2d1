import LodgePlatform

/// Dates in HTTP format.
///
/// See [RFC 9110 section 5.6.7](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7).
package enum HTTPDate {
    /// Returns the date in any of the three formats, or `nil` if the text is not a date.
    package static func parse(_ text: String) -> Date? {
        guard text.utf8.count <= 64 else { return nil }
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" }
        guard parts.count >= 5 else { return nil }
        if let month = month(parts[1]), let day = Int(parts[2]), let year = Int(parts[4]) {
            return Date(year: year, month: month, day: day, time: parts[3])
        }
        guard let day = Int(parts[1]), let month = month(parts[2]), var year = Int(parts[3]) else {
            return nil
        }
        if parts[3].utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
        return Date(year: year, month: month, day: day, time: parts[4])
    }

    /// Returns a date in HTTP format, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(_ secondsSince1970: Int) -> String {
        let date = UTCDate(secondsSince1970: max(secondsSince1970, 0))
        let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][date.weekday]
        return "\(weekday), \(UTCDate.digits(date.day, 2)) \(months[date.month - 1]) \(date.year) \(date.time) GMT"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func month(_ name: Substring) -> Int? { months.firstIndex { $0 == name }.map { $0 + 1 } }
}
