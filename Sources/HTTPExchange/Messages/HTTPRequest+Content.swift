import LodgePlatform
import StrictJSON

/// Requests with common kinds of content.
///
/// Each sets only `Content-Type`, unless the fields contain one. An `Accept` field stays unchanged.
extension HTTPRequest {
    /// Creates a request with these pairs appended to the query of the URL.
    ///
    /// - Parameter query: unencoded names and values. A name can be repeated.
    public init(_ method: HTTPMethod = .get, _ url: URL, query: [FormEncoding.Pair], fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        add(query: query)
    }

    /// Creates a request with a form, `application/x-www-form-urlencoded`.
    ///
    /// For GET and HEAD, the form is appended to the query.
    ///
    /// - Parameter form: unencoded names and values. A name can be repeated.
    public init(_ method: HTTPMethod = .post, _ url: URL, form: [FormEncoding.Pair], fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        if method == .get || method == .head {
            add(query: form)
        } else {
            set(.bytes(Data(FormEncoding.encode(form).utf8)), type: "application/x-www-form-urlencoded")
        }
    }

    /// Creates a request with JSON.
    public init(_ method: HTTPMethod = .post, _ url: URL, json: JSONValue, fields: HTTPFields = [:]) {
        self.init(method, url, fields: fields)
        set(.bytes(Data(json.serialized())), type: "application/json")
    }

    /// Creates a request with a value encoded as JSON.
    ///
    /// Members are sorted by name and dates are in RFC 3339, so that equal values have equal bytes.
    ///
    /// - Throws: `EncodingError` if the value cannot be encoded.
    public init(
        _ method: HTTPMethod = .post, _ url: URL, encoding value: some Encodable, fields: HTTPFields = [:]
    ) throws {
        self.init(method, url, fields: fields)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        set(.bytes(try encoder.encode(value)), type: "application/json")
    }

    /// Creates a request with a multipart form.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest`, like `MultipartForm.content()`.
    public init(
        _ method: HTTPMethod = .post, _ url: URL, multipart form: MultipartForm, fields: HTTPFields = [:]
    ) throws(HTTPTransportError) {
        self.init(method, url, fields: fields)
        let content = try form.content()
        // Any other type would lack the boundary.
        self.fields["Content-Type"] = nil
        set(content, type: form.contentType)
    }

    /// Appends these pairs to the query of the URL.
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
    /// Returns the content decoded from JSON, with dates in RFC 3339.
    ///
    /// - Throws: `DecodingError` if the content does not match the type.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(type, from: body)
    }
}
