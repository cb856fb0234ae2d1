import LodgePlatform

extension HTTPResponse {
    /// Returns the delay that the server requests, at most one day.
    ///
    /// Returns `nil` if the field is missing or has neither a number nor a date.
    ///
    /// Accepts whole seconds, a fraction (`2.128`), an HTTP date, or the first number of a malformed value (`30,120`).
    /// A date is relative to the response's own `Date`, so that a wrong local clock does no harm; without that field it
    /// is relative to `now`, and ignored if that is `nil`.
    ///
    /// See [RFC 9110 section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3).
    public func retryAfter(now: Date? = nil) -> Duration? {
        guard let value = fields["Retry-After"] else { return nil }
        let text = value.drop { $0 == " " || $0 == "\t" }
        if let seconds = leadingNumber(text) { return bounded(seconds) }
        guard let date = HTTPDate.parse(String(text)), let start = fields["Date"].flatMap(HTTPDate.parse) ?? now else {
            return nil
        }
        return bounded(date.timeIntervalSince(start))
    }

    /// Returns the delay, rounded up to a millisecond.
    private func bounded(_ seconds: Double) -> Duration {
        guard seconds > 0 else { return .zero }
        return .milliseconds(Int64((min(seconds, 86_400) * 1000).rounded(.up)))
    }

    private func leadingNumber(_ text: Substring) -> Double? {
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
