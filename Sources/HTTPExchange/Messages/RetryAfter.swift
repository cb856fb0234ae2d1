import Platform

extension HTTPResponse {
    /// How long the server asks to wait, at most a day: whole seconds, a fraction (`2.128`), an HTTP date, or the first number of
    /// something malformed (`30,120`). Nil when there is no such field, or neither a number nor a date in it.
    ///
    /// A date is measured from the answer's own `Date`, so that a clock that is off here does no harm; without that field from
    /// `now`, and when that is nil too, it counts as none.
    ///
    /// [RFC 9110 section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)
    public func retryAfter(now: Date? = nil) -> Duration? {
        guard let value = fields["Retry-After"] else { return nil }
        let text = value.drop { $0 == " " || $0 == "\t" }
        if let seconds = leadingNumber(text) { return bounded(seconds) }
        guard let date = HTTPDate.parse(String(text)), let start = fields["Date"].flatMap(HTTPDate.parse) ?? now else {
            return nil
        }
        return bounded(date.timeIntervalSince(start))
    }

    /// Rounded up to a thousandth.
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
