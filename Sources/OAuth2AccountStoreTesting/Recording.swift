import LodgePlatform
import HTTPExchange
import StrictJSON

/// Exchanges with a service, without their secrets. A ``RecordingTransport`` saves them, and a ``ReplayingTransport``
/// sends as responses.
public struct Recording: Sendable, Equatable {
    /// A request and its response, with masked secrets.
    public struct Exchange: Sendable, Equatable {
        /// The request's method.
        public let method: String
        /// The URL, with masked secret parameters.
        public let address: String
        /// The request's header fields, with masked secrets.
        public let requestFields: HTTPFields
        /// The request's content, with masked secret members and parameters; empty if the request has no content, or
        /// the content was not in memory.
        public let requestBody: Data
        /// The response's status.
        public let status: Int
        /// The response's header fields, with masked secrets.
        public let fields: HTTPFields
        /// The response's content, with masked secret members.
        public let body: Data

        /// Creates an exchange and masks its secrets.
        public init(_ sent: HTTPRequest, _ response: HTTPResponse) {
            let request = Request(sent)
            method = request.method
            address = request.address
            requestFields = Redaction.masked(sent.fields)
            requestBody = request.body
            status = response.status
            fields = Redaction.masked(response.fields)
            body = Redaction.masked(
                response.body, type: response.fields["Content-Type"], token: Redaction.token(of: sent))
        }

        init(_ object: JSONObject) throws(RecordingError) {
            func text(_ name: String) throws(RecordingError) -> String {
                guard let text = object[name]?.string else {
                    throw RecordingError("an exchange of the recording has no string \(name)")
                }
                return text
            }
            method = try text("method")
            address = try text("address")
            guard case .number(let number)? = object["status"], let status = Int(number.literal) else {
                throw RecordingError("an exchange of the recording has no number status")
            }
            self.status = status
            requestFields = try Self.fields(object["requestFields"])
            requestBody = try Self.content(object, "requestBody")
            fields = try Self.fields(object["fields"])
            body = try Self.content(object, "body")
        }

        var json: JSONValue {
            var object: JSONObject = ["method": .string(method), "address": .string(address)]
            object["requestFields"] = Self.json(requestFields)
            Self.add(requestBody, as: "requestBody", to: &object)
            object["status"] = .number(JSONNumber(Int64(status)))
            object["fields"] = Self.json(fields)
            Self.add(body, as: "body", to: &object)
            return .object(object)
        }

        private static func json(_ fields: HTTPFields) -> JSONValue {
            .array(fields.map { .array([.string($0.name), .string($0.value)]) })
        }

        private static func fields(_ value: JSONValue?) throws(RecordingError) -> HTTPFields {
            var fields = HTTPFields()
            for field in value?.array ?? [] {
                guard let pair = field.array, pair.count == 2, let name = pair[0].string, let value = pair[1].string
                else { throw RecordingError("a header field of the recording is not a list of name and value") }
                fields.append(name: name, value: value)
            }
            return fields
        }

        /// Adds readable text, or base64 for other content.
        private static func add(_ content: Data, as name: String, to object: inout JSONObject) {
            guard !content.isEmpty else { return }
            if let text = String(validating: content, as: UTF8.self) {
                object[name] = .string(text)
            } else {
                object[name + "Base64"] = .string(content.base64EncodedString())
            }
        }

        private static func content(_ object: JSONObject, _ name: String) throws(RecordingError) -> Data {
            if let text = object[name]?.string { return Data(text.utf8) }
            guard let text = object[name + "Base64"]?.string else { return Data() }
            guard let bytes = Data(base64Encoded: text) else {
                throw RecordingError("\(name)Base64 of an exchange is not base64")
            }
            return bytes
        }
    }

    /// The part of a request that a recording compares.
    struct Request: Equatable {
        let method: String
        let address: String
        let body: Data

        init(_ request: HTTPRequest) {
            method = request.method.rawValue
            address = Redaction.masked(request.url)
            body = Redaction.masked(request.body ?? Data(), type: request.fields["Content-Type"])
        }

        init(_ exchange: Exchange) {
            method = exchange.method
            address = exchange.address
            body = exchange.requestBody
        }
    }

    /// The exchanges, in the order of their responses.
    public var exchanges: [Exchange]

    /// Creates a recording of these exchanges.
    public init(_ exchanges: [Exchange] = []) { self.exchanges = exchanges }

    /// Creates a recording from a file.
    ///
    /// - Throws: ``RecordingError`` if the file is not a recording; Foundation's error if it cannot be read.
    public init(contentsOf file: URL) throws {
        let bytes = try Data(contentsOf: file)
        guard let list = (try? JSONValue(parsing: bytes))?.object?["exchanges"]?.array else {
            throw RecordingError("\(file.lastPathComponent) is not a JSON object with a list of exchanges")
        }
        exchanges = try list.map { value throws(RecordingError) in
            guard let object = value.object else {
                throw RecordingError("an exchange of the recording is \(value.kind)")
            }
            return try Exchange(object)
        }
    }

    /// Writes the recording to a file as indented JSON. Replaces an existing file.
    ///
    /// - Throws: Foundation's error if the file cannot be written.
    public func write(to file: URL) throws {
        let value = JSONValue.object(["exchanges": .array(exchanges.map(\.json))])
        try Data(value.serialized(.indented) + [0x0A]).write(to: file, options: .atomic)
    }
}

/// The reason why a file is not a recording.
public struct RecordingError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason.
    public let reason: String

    init(_ reason: String) { self.reason = reason }

    /// The reason and a remedy.
    public var description: String { reason + "; record it again" }
}

extension RecordingError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot read the recording." }
    /// The reason in a sentence.
    public var failureReason: String? { reason.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { "Record it again." }
}
