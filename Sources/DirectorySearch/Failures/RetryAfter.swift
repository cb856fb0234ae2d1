#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The field `Retry-After`, as Graph's services really send it.
enum RetryAfter {
    /// How long to wait, at most a day: whole seconds, a fraction (`2.128`), an HTTP date, or the first number of something malformed
    /// (`30,120`). Nil when there is no number and no date.
    ///
    /// A date is measured from the answer's own `Date`, so that a clock that is off here does no harm.
    ///
    /// RFC 9110 section 10.2.3
    static func wait(_ value: String?, answeredAt: String?, now: Date) -> Duration? {
        guard let value else { return nil }
        let text = value.drop { $0 == " " || $0 == "\t" }
        if let seconds = leadingNumber(text) { return .bounded(seconds: seconds) }
        guard let date = ServerDate.http(String(text)) else { return nil }
        let start = answeredAt.flatMap(ServerDate.http) ?? now
        return .bounded(seconds: date.timeIntervalSince(start))
    }

    private static func leadingNumber(_ text: Substring) -> Double? {
        var literal = ""
        var hasPoint = false
        for character in text.prefix(32) {
            if let digit = character.wholeNumberValue, character.isASCII {
                literal += String(digit)
            } else if character == ".", !hasPoint, !literal.isEmpty {
                hasPoint = true
                literal += "."
            } else {
                break
            }
        }
        if literal.hasSuffix(".") { literal.removeLast() }
        return literal.isEmpty ? nil : Double(literal)
    }
}

extension Duration {
    /// This many seconds, rounded up to a thousandth, but no less than none and no more than a day.
    static func bounded(seconds: Double) -> Duration {
        guard seconds > 0 else { return .zero }
        return .milliseconds(Int64((min(seconds, 86400) * 1000).rounded(.up)))
    }

    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
