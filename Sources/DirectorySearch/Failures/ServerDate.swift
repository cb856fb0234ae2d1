import HTTPTransport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
        return HTTPDate.date(year, month, day, time: time)
    }
}
