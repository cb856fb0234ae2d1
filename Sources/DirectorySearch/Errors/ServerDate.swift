import Platform

/// Dates as Graph writes them.
enum ServerDate {
    /// `2021-05-18T19:12:36`, with or without a fraction. Graph means UTC and often does not say so.
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

    /// Whether a text can stand in a filter as a date or a moment: digits and what parts them, and nothing that could end it.
    static func isLiteral(_ text: String) -> Bool {
        guard (10...40).contains(text.utf8.count), text.utf8.prefix(4).allSatisfy({ (0x30...0x39).contains($0) }) else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "+"),
                UInt8(ascii: "T"), UInt8(ascii: "Z"):
                true
            default: false
            }
        }
    }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { self / .seconds(1) }
}
