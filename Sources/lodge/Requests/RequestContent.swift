import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

/// The content of a request.
@MainActor struct RequestContent {
    private enum Source {
        case text(String)
        case file(String)
        case input

        /// Creates a source from `@FILE`, `@-`, or literal text.
        init(_ text: String) {
            guard text.hasPrefix("@") else {
                self = .text(text)
                return
            }
            self = text == "@-" ? .input : .file(String(text.dropFirst()))
        }

        var fileName: String? {
            switch self {
            case .text: nil
            case .file(let path): URL(filePath: path).lastPathComponent
            case .input: "-"
            }
        }
    }

    private struct Part {
        var name: String
        var source: Source
        var type: String?
        var fileName: String?
    }

    private enum Kind {
        case none
        case data(Source)
        case json(Source)
        case form([FormEncoding.Pair])
        case parts([Part])
    }

    private let kind: Kind
    private static let maximumJSON = 64 << 20

    init(_ invocation: Invocation) throws {
        typealias Input = RequestCommand.Input
        let options: [any DeclaredOption] = [Input.data, Input.json, Input.form, Input.part]
        let present = options.filter { invocation.source(of: $0) != nil }
        guard present.count <= 1 else {
            throw invocation.conflict(present[0], present[1], reason: "a request can have only one content")
        }
        if let text = invocation[Input.data] {
            kind = .data(Source(text))
        } else if let text = invocation[Input.json] {
            kind = .json(Source(text))
        } else if present.first?.spec == Input.form.spec {
            kind = .form(try invocation[Input.form].map { try Self.pair($0, of: "form") })
        } else if present.first?.spec == Input.part.spec {
            let parts = try invocation[Input.part].map(Self.part)
            let readers = parts.filter { if case .input = $0.source { true } else { false } }
            guard readers.count <= 1 else {
                throw CommandError(
                    .usage, "standard input is read twice", reason: "two parts are @-",
                    hint: "pass one of them as @FILE")
            }
            kind = .parts(parts)
        } else {
            kind = .none
        }
    }

    private static func pair(_ text: String, of option: String) throws -> FormEncoding.Pair {
        let name = text.prefix { $0 != "=" }
        guard name.count < text.count else {
            // Not shown, because it may be a password.
            throw CommandError(
                .usage, "--\(option) has no =", reason: "expected NAME=VALUE",
                hint: option == "part" ? "--part file=@photo.jpg" : "--form name=Ada")
        }
        return (String(name), String(text.dropFirst(name.count + 1)))
    }

    /// Parses `name=value` or `name=@FILE`. `;type=…` and `;filename=…` may follow a file name.
    private static func part(_ text: String) throws -> Part {
        let (name, value) = try pair(text, of: "part")
        guard value.hasPrefix("@") else { return Part(name: name, source: .text(value)) }
        var part = Part(name: name, source: .text(""))
        // Any other semicolon is part of the surrounding value: the path or the file name.
        let marks = [";type=", ";filename="]
        let ranges = marks.compactMap { value.firstRange(of: $0) }.sorted { $0.lowerBound < $1.lowerBound }
        for (index, location) in ranges.enumerated() {
            let end = index + 1 < ranges.count ? ranges[index + 1].lowerBound : value.endIndex
            let text = String(value[location.upperBound..<end])
            if value[location] == marks[0] { part.type = text } else { part.fileName = text }
        }
        let isType = part.type.map { $0.utf8.contains(0x2F) && $0.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F } } ?? true
        guard isType else {
            throw CommandError(
                .usage, "wrong type in --part \(UsageError.quoted(name))", reason: "expected a media type after ;type=",
                hint: "--part 'file=@photo.jpg;type=image/jpeg'")
        }
        let rest = value[..<(ranges.first?.lowerBound ?? value.endIndex)]
        part.source = Source(String(rest))
        return part
    }

    /// Sets the content of the request. `copy` copies standard input into a file.
    ///
    /// - Returns: The files with the bytes of standard input and of pipes, to be removed after the request.
    func put(
        into request: inout HTTPRequest, readingInput copy: @MainActor (_ path: String) throws -> Void
    ) throws -> [InputFile] {
        var inputs: [InputFile] = []
        func copied(_ copy: @MainActor (_ path: String) throws -> Void) throws -> HTTPBody {
            let file = try InputFile()
            inputs.append(file)
            try copy(file.path)
            return .file(at: URL(filePath: file.path))
        }
        func body(_ source: Source) throws -> HTTPBody {
            switch source {
            case .text(let text): return .bytes(Data(text.utf8))
            // A pipe can be read only once, but a retry needs the content again.
            case .file(let path) where StandardInput.isPipe(path):
                return try copied { try StandardInput.copyPipe(path, to: $0) }
            case .file(let path): return .file(at: URL(filePath: path))
            case .input: return try copied(copy)
            }
        }
        do {
            switch kind {
            case .none: return []
            case .data(let source): request.content = try body(source)
            case .json(let source):
                request.content = try Self.json(try body(source), of: source, inputs.last)
                if request.fields["Content-Type"] == nil { request.fields["Content-Type"] = "application/json" }
                if request.fields["Accept"] == nil { request.fields["Accept"] = "application/json" }
            case .form(let pairs):
                request = HTTPRequest(request.method, request.url, form: pairs, fields: request.fields)
            case .parts(let parts):
                var form = MultipartForm()
                for part in parts {
                    var content = MultipartForm.Part(name: part.name, content: try body(part.source))
                    if let name = part.source.fileName {
                        content.fileName = part.fileName ?? name
                        content.contentType = part.type ?? "application/octet-stream"
                    }
                    form.parts.append(content)
                }
                request = try HTTPRequest(request.method, request.url, multipart: form, fields: request.fields)
            }
            // Report a missing file before requesting a token.
            _ = try request.content?.length()
        } catch {
            for input in inputs { input.remove() }
            guard let error = error as? HTTPFileError else { throw error }
            throw CommandError(
                .usage, "cannot send the file \(error.path)",
                reason: StandardInput.problem(ofFile: error.path) ?? error.reason,
                hint: "check its path and permissions; @ precedes the name of a file")
        }
        if request.content != nil, [.get, .head].contains(request.method) {
            for input in inputs { input.remove() }
            throw CommandError(
                .usage, "\(request.method) has no content",
                reason: "expected no content, or --form, which extends the query",
                hint: "send it with POST or PUT")
        }
        return inputs
    }

    /// Validates the JSON, which is sent unchanged.
    private static func json(_ content: HTTPBody, of source: Source, _ input: InputFile?) throws -> HTTPBody {
        guard let length = try content.length(), length <= maximumJSON else {
            throw CommandError(
                .usage, "the JSON is too large", reason: "expected at most \(maximumJSON) bytes",
                hint: "send it with --data and --header 'Content-Type: application/json'")
        }
        let bytes =
            switch source {
            case .text(let text): Data(text.utf8)
            case .file(let path): try Data(contentsOf: URL(filePath: input?.path ?? path))
            case .input: try Data(contentsOf: URL(filePath: input?.path ?? ""))
            }
        do {
            _ = try JSONValue(parsing: bytes)
        } catch {
            throw CommandError(
                .usage, "the content of --json is not JSON", reason: "\(error)",
                hint: "quote it for the shell, or send it unchanged with --data")
        }
        return .bytes(bytes)
    }
}
