import HTTPTransport

/// How long a server asks to wait.
///
/// [RFC 9110 section 10.2.3](https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3)
public enum RetryAfter {
    /// The longest wait that is believed, in seconds: a day.
    public static let maximum = 86_400

    /// The seconds of a `Retry-After` field, rounded up, at most ``maximum``; nil when there is none.
    ///
    /// Fractions and lists are seen in the wild: the first number counts. A date is compared with the server's own `Date`, so
    /// that this machine's clock does not matter; without that field it counts as none.
    public static func seconds(_ response: HTTPResponse) -> Int? {
        guard let text = response.fields["Retry-After"] else { return nil }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        if let value = Double(number), value.isFinite, value >= 0 {
            return Int(min(value, Double(maximum)).rounded(.up))
        }
        guard let until = seconds(ofDate: text), let date = response.fields["Date"], let now = seconds(ofDate: date)
        else { return nil }
        return min(max(until - now, 0), maximum)
    }

    /// The seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7); nil for others.
    package static func seconds(ofDate text: String) -> Int? {
        let parts = text.split { " ,:-".contains($0) }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count == 8, parts[7] == "GMT", let day = Int(parts[1]), (1...31).contains(day),
            let month = months.firstIndex(where: { $0 == parts[2] }), let year = Int(parts[3]),
            (1970...9999).contains(year), let hour = Int(parts[4]), (0...23).contains(hour), let minute = Int(parts[5]),
            (0...59).contains(minute), let second = Int(parts[6]), (0...60).contains(second)
        else { return nil }
        // Days since 1970, counting years from March so that the leap day is the last.
        let shifted = month < 2 ? year - 1 : year
        let dayOfYear = (153 * ((month + 10) % 12) + 2) / 5 + day - 1
        let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }
}
