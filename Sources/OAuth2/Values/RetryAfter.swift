import HTTPTransport

/// How long a server asks to wait.
public enum RetryAfter {
    /// The seconds of a `Retry-After` field given as a number, rounded up, at most a day; nil when there is none.
    /// Fractions and lists are seen in the wild: the first number counts.
    public static func seconds(_ response: HTTPResponse) -> Int? {
        guard let text = response.fields["Retry-After"] else { return nil }
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let value = Double(number), value.isFinite, value >= 0 else { return nil }
        return Int(min(value, 86_400).rounded(.up))
    }
}
