import HTTPExchange

struct FormFields: Sendable {
    private(set) var fields: [FormEncoding.Pair] = []

    init() {}

    /// Creates the fields of `a=b&c=d`, or returns `nil` if an escape is malformed or the bytes are not UTF-8.
    init?(parsing text: some StringProtocol) {
        guard let fields = FormEncoding.decode(text) else { return nil }
        self.fields = fields
    }

    /// The value of the first field with this name, or `nil` if it is missing or empty.
    ///
    /// RFC 6749 section 3.1: parameters without a value are treated as omitted.
    subscript(name: String) -> String? {
        fields.first { $0.name == name && !$0.value.isEmpty }?.value
    }

    /// Returns the value of the first OData option with this name, ignoring case, with or without `$`.
    func option(_ name: String) -> String? {
        fields.first { [name, "$" + name].contains($0.name.lowercased()) }?.value
    }

    /// Whether a name is used more than once, which OAuth forbids.
    var hasDuplicates: Bool { Set(fields.map(\.name)).count < fields.count }

    mutating func append(_ name: String, _ value: String) { fields.append((name, value)) }

    /// Replaces all fields with this name.
    mutating func set(_ name: String, _ value: String) {
        fields.removeAll { $0.name == name }
        append(name, value)
    }

    /// The fields as a query or form.
    var encoded: String { FormEncoding.encode(fields) }
}
