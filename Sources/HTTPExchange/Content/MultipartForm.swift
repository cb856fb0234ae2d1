import LodgePlatform

/// A multipart form: strings, numbers, bytes and files in the order in which they are added.
///
/// A name can be repeated. Files are read while the form is sent. A form that is sent again has the same boundary and
/// the same bytes.
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Ada", named: "name")
/// form.append(file: photo, named: "photo", contentType: "image/jpeg")
/// let request = try HTTPRequest(.post, url, multipart: form)
/// ```
///
/// See [RFC 7578](https://www.rfc-editor.org/rfc/rfc7578), and for the names [the HTML
/// standard](https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data).
public struct MultipartForm: Sendable, Equatable {
    /// A part of a form.
    public struct Part: Sendable, Equatable {
        /// The field's name. It can contain any characters, which are escaped as in browsers.
        public var name: String
        /// The content of the part.
        public var content: HTTPBody
        /// The file name, which makes the part a file upload; `nil` for a plain field. Escaped like the name.
        public var fileName: String?
        /// The media type. `nil` means text.
        public var contentType: String?
        /// Additional header fields of the part.
        public var fields: HTTPFields

        /// Creates a part.
        public init(
            name: String, content: HTTPBody, fileName: String? = nil, contentType: String? = nil,
            fields: HTTPFields = [:]
        ) {
            self.name = name
            self.content = content
            self.fileName = fileName
            self.contentType = contentType
            self.fields = fields
        }
    }

    /// The parts, in order.
    package var parts: [Part] = []
    /// The boundary between the parts, without its dashes.
    package let boundary: String

    /// Creates a form without parts and with a random boundary that does not occur in the content.
    public init() {
        boundary = "form-" + (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }

    /// Creates a form without parts and with this boundary: 1 to 70 letters, digits and characters from `'()+_,-./:=?`.
    ///
    /// For tests and for servers that require a specific boundary. The caller ensures that it does not occur in the
    /// content.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` if the boundary is invalid.
    public init(boundary: String) throws(HTTPTransportError) {
        let mayStand = { (byte: UInt8) in
            (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A || byte >= 0x30 && byte <= 0x39
                || "'()+_,-./:=?".utf8.contains(byte)
        }
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(mayStand) else {
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The boundary is not 1 to 70 letters, digits and characters out of '()+_,-./:=?; change it.")
        }
        self.boundary = boundary
    }

    /// Adds a string or a number.
    public mutating func append(_ value: some LosslessStringConvertible, named name: String) {
        parts.append(Part(name: name, content: .bytes(Data(String(value).utf8))))
    }

    /// Adds a field for each value, with the same name.
    public mutating func append(contentsOf values: [some LosslessStringConvertible], named name: String) {
        for value in values { append(value, named: name) }
    }

    /// Adds bytes as a file.
    public mutating func append(
        _ data: Data, named name: String, fileName: String = "data", contentType: String = "application/octet-stream"
    ) {
        parts.append(Part(name: name, content: .bytes(data), fileName: fileName, contentType: contentType))
    }

    /// Adds a file. The default file name is its own.
    public mutating func append(
        file: URL, named name: String, fileName: String? = nil, contentType: String = "application/octet-stream"
    ) {
        parts.append(
            Part(
                name: name, content: .file(at: file), fileName: fileName ?? file.lastPathComponent,
                contentType: contentType))
    }

    /// The `Content-Type` of a request with this form.
    public var contentType: String {
        let needsQuotes = boundary.utf8.contains { "'()+,/:=?".utf8.contains($0) && $0 != 0x27 && $0 != 0x2B }
        return "multipart/form-data; boundary=" + (needsQuotes ? "\"\(boundary)\"" : boundary)
    }

    /// Returns the content of a request with this form.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` if a media type or a header field of a part has a
    ///   control character, or if a field name is invalid.
    public func content() throws(HTTPTransportError) -> HTTPBody {
        var pieces: [HTTPBody] = []
        var text = ""
        for part in parts {
            text += "--\(boundary)\r\n" + (try part.head()) + "\r\n"
            pieces += [.bytes(Data(text.utf8)), part.content]
            text = "\r\n"
        }
        text += "--\(boundary)--\r\n"
        return .joined(pieces + [.bytes(Data(text.utf8))])
    }
}

extension MultipartForm.Part {
    /// Returns the header fields, one per line.
    fileprivate func head() throws(HTTPTransportError) -> String {
        var lines = "Content-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { lines += "; filename=\"\(Self.escaped(fileName))\"" }
        lines += "\r\n"
        var all = HTTPFields()
        all["Content-Type"] = contentType
        for field in fields where field.name.lowercased() != "content-disposition" {
            all.append(name: field.name, value: field.value)
        }
        for field in all {
            let isName = !field.name.isEmpty && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3A }
            guard isName, HTTPFields.isValue(field.value) else {
                throw HTTPTransportError(
                    .invalidRequest, host: "",
                    reason:
                        "A header field of the form's part has a line break or another character that it cannot have.")
            }
            lines += "\(field.name): \(field.value)\r\n"
        }
        return lines
    }

    /// Returns a name escaped as in browsers: only delimiters are escaped, other characters are UTF-8.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "%22"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension MultipartForm: Redacted {
    /// The number of parts, without their content.
    public var description: String { "form of \(parts.count) parts" }
}

extension MultipartForm.Part: Redacted {
    /// A description without the content.
    public var description: String { "part of a form" }
}
