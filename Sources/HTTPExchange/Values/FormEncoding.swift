/// The `application/x-www-form-urlencoded` format, for bodies and for queries.
///
/// [RFC 6749 appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B)
public enum FormEncoding {
    /// One name and its value.
    public typealias Pair = (name: String, value: String)

    /// The pairs as a form. Everything but unreserved characters is percent-encoded, the space as `%20`, which every server
    /// reads the same way in a query and in a body.
    public static func encode(_ pairs: some Sequence<Pair>) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// One name or value, percent-encoded.
    public static func encode(_ text: String) -> String {
        PercentEncoding.encode(text.utf8, keeping: PercentEncoding.isUnreserved)
    }

    /// One name or value as RFC 6749 section 2.3.1 wants it in HTTP Basic: the space as `+`.
    package static func encodeWithPlus(_ text: String) -> String { encode(text).replacing("%20", with: "+") }

    /// The pairs of a form, or `nil` if an escape is malformed or the bytes are not UTF-8.
    ///
    /// A name without `=` has the empty value; empty parts are skipped.
    public static func decode(_ form: some StringProtocol) -> [Pair]? {
        var pairs: [Pair] = []
        for part in form.utf8.split(separator: UInt8(ascii: "&")) {
            let name = part.prefix { $0 != UInt8(ascii: "=") }
            guard let decodedName = PercentEncoding.decode(name, plusIsSpace: true),
                let decodedValue = PercentEncoding.decode(part.dropFirst(name.count + 1), plusIsSpace: true)
            else { return nil }
            pairs.append((decodedName, decodedValue))
        }
        return pairs
    }
}
