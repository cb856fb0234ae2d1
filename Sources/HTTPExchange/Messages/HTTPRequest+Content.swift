import Platform
import StrictJSON

/// Requests with the usual kinds of content. Each sets `Content-Type` unless the fields have one, and nothing else: an `Accept` of the
/// caller's stays.
extension HTTPRequest {
    /// A request with these pairs added to the query of the address, in order. What the address has already stays.
    ///
    /// - Parameter query: names and values, not encoded yet. A name may stand more than once.
    public init(_ method: HTTPMethod = .get, _ url: URL, query: [FormEncoding.Pair], fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        add(query: query)
    }

    /// A request with a form, `application/x-www-form-urlencoded`. For GET and HEAD, which have no content, the form joins the query.
    ///
    /// - Parameter form: names and values, not encoded yet. A name may stand more than once.
    public init(_ method: HTTPMethod = .post, _ url: URL, form: [FormEncoding.Pair], fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        if method == .get || method == .head {
            add(query: form)
        } else {
            set(.bytes(Data(FormEncoding.encode(form).utf8)), type: "application/x-www-form-urlencoded")
        }
    }

    /// A request with this JSON.
    public init(_ method: HTTPMethod = .post, _ url: URL, json: JSONValue, fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        set(.bytes(Data(json.serialized())), type: "application/json")
    }

    /// A request with a value as JSON: members sorted by name, dates in the form of RFC 3339, so that the same value is the same bytes.
    ///
    /// - Throws: `EncodingError` when the value cannot be encoded.
    public init(
        _ method: HTTPMethod = .post, _ url: URL, encoding value: some Encodable, fields: HTTPFields = [:]
    ) throws {
        self.init(method, url, fields: fields)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        set(.bytes(try encoder.encode(value)), type: "application/json")
    }

    /// A request with a form of several parts.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest`, as `MultipartForm.content()` does.
    public init(
        _ method: HTTPMethod = .post, _ url: URL, multipart form: MultipartForm, fields: HTTPFields = [:]
    ) throws(HTTPTransportError) {
        self.init(method, url, fields: fields)
        let content = try form.content()
        // Another type would hide the boundary.
        self.fields["Content-Type"] = nil
        set(content, type: form.contentType)
    }

    /// Adds these pairs to the query of the address, in order. What is there stays.
    public mutating func add(query: [FormEncoding.Pair]) {
        guard !query.isEmpty else { return }
        let text = url.absoluteString
        let base = text.prefix { $0 != "#" }
        let fragment = text[base.endIndex...]
        let mark: Substring =
            base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        if let extended = URL(string: String(base + mark) + FormEncoding.encode(query) + fragment) { url = extended }
    }

    private mutating func set(_ content: HTTPBody, type: String) {
        self.content = content
        if fields["Content-Type"] == nil { fields["Content-Type"] = type }
    }
}

extension HTTPResponse {
    /// The content read as JSON into a value; dates in the form of RFC 3339.
    ///
    /// - Throws: `DecodingError` when it is something else.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: body)
    }
}
