/// What stands in Retry-After. RFC 9110 section 10.2.3.
enum RetryAfterText {
    /// The field's value for a fault's: `date` is a date two seconds ahead, `none` no field at all, and everything else
    /// stands as it is, valid or not.
    static func field(_ value: String?, now: Int) -> String? {
        switch value {
        case nil: "2"
        case "none": nil
        case "date": date(now + 2)
        case let value?: value.filter { $0.isASCII && !$0.isNewline }
        }
    }

    /// A time as HTTP writes it, such as `Thu, 15 Jan 2026 09:30:07 GMT`. RFC 9110 section 5.6.7.
    static func date(_ seconds: Int) -> String {
        let (day, second) = (seconds / 86_400, seconds % 86_400)
        // Days since 1 March of the year 0, in cycles of 400 years.
        let shifted = day + 719_468
        let (cycle, dayOfCycle) = (shifted / 146_097, shifted % 146_097)
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        return "\(days[day % 7]), \(two(dayOfMonth)) \(months[month - 1]) \(year) "
            + "\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
    }
}
