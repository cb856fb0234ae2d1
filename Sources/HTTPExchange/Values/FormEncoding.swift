/// The `application/x-www-form-urlencoded` format for bodies and queries.
///
/// See [RFC 6749 appendix B](https://www.rfc-editor.org/rfc/rfc6749#appendix-B).
public enum FormEncoding {
    /// One name and its value.
    public typealias Pair = (name: String, value: String)

    /// Returns the pairs as a form.
    ///
    /// All characters except unreserved ones are percent-encoded. A space is `%20`, which every server decodes in
    /// queries and bodies.
    package static func encode(_ pairs: some Sequence<Pair>) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
    }

    /// Returns a percent-encoded name or value.
    package static func encode(_ text: String) -> String {
        PercentEncoding.encode(text.utf8, keeping: PercentEncoding.isUnreserved)
    }

    /// Returns a name or value encoded for HTTP Basic (RFC 6749 section 2.3.1), with a space as `+`.
    package static func encodeWithPlus(_ text: String) -> String { encode(text).replacing("%20", with: "+") }

    /// Returns the pairs of a form, or `nil` if an escape is malformed or the bytes are not UTF-8.
    ///
    /// A name without `=` has an empty value; empty parts are skipped.
    package static func decode(_ form: some StringProtocol) -> [Pair]? {
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
