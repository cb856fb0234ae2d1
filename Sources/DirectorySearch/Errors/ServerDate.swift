import LodgePlatform

/// Dates in the format of Graph.
enum ServerDate {
    /// Returns the date for a string such as `2021-05-18T19:12:36`, with or without a fraction.
    ///
    /// It is in UTC, even without a `Z`.
    static func graph(_ text: String) -> Date? {
        guard text.utf8.count <= 40 else { return nil }
        let halves = text.split(separator: "T", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let days = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard days.count == 3, let year = Int(days[0]), let month = Int(days[1]), let day = Int(days[2]) else {
            return nil
        }
        let time = halves[1].prefix { $0 != "." && $0 != "Z" && $0 != "z" }
        return Date(year: year, month: month, day: day, time: time)
    }

    /// Returns whether a string is safe as a date in a filter: it has only digits and separators, and cannot end the
    /// literal.
    static func isLiteral(_ text: String) -> Bool {
        (10...40).contains(text.utf8.count) && text.utf8.prefix(4).allSatisfy(\.isDigit)
            && text.utf8.allSatisfy { $0.isDigit || "-:.+TZ".utf8.contains($0) }
    }
}

extension UInt8 {
    var isDigit: Bool { (0x30...0x39).contains(self) }

    /// Returns whether this is an ASCII letter or digit, or one of the other characters.
    func isAlphanumeric(or others: String) -> Bool {
        isDigit || (0x61...0x7A).contains(self | 0x20) || others.utf8.contains(self)
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { self / .seconds(1) }
}
