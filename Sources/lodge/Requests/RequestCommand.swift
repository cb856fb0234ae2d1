import CommandLineKit
import Platform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

/// `request`
@MainActor
struct RequestCommand {
    private let context: CommandContext
    private var invocation: Invocation { context.invocation }
    private var console: Console { context.console }

    /// How many redirects are followed.
    private static let maximumRedirects = 10

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        // The option of this name is a file here; only the environment asks for another format.
        console.options.reportsJSON = context.world.environment["LODGE_OUTPUT"] == OutputFormat.json.rawValue
        let file = try outputFile()
        let content = try RequestContent(invocation)
        var header = HTTPFields()
        for text in invocation.strings("header") {
            let field = try Self.field(text)
            header.append(name: field.name, value: field.value)
        }
        let isSigned = !invocation.flag("no-account")
        let settings = try isSigned ? context.settings() : nil
        // A path needs the settings even where no account is used.
        let address = invocation.argument("URL") ?? ""
        let isPath = address.hasPrefix("/")
        let named = try settings ?? (isPath ? context.settings() : nil)

        var type: AccountType?
        var account: Account?
        var transport: any HTTPTransport
        if let settings {
            let scopes = try invocation.scope()
            let store = try await context.store(settings)
            let found = try await context.account(store)
            account = found
            type = settings[found.type]
            transport = found.transport(in: store, scopes: scopes)
            if header["Authorization"] != nil {
                console.note("The account's token takes the place of the Authorization header; --no-account keeps it.")
            }
        } else {
            type = named.flatMap { $0[context.typeName($0)] }
            transport = context.dependencies().transport(type?.caFile)
        }
        let url = try RequestURL(type).url(address)
        let method = HTTPMethod(rawValue: (invocation.argument("METHOD") ?? "GET").uppercased())
        var request = HTTPRequest(method, url, fields: header)
        let inputs = try content.put(into: &request, readingInput: context.world.copyInput)
        defer { for input in inputs { input.remove() } }
        request.redirects = .follow(limit: Self.maximumRedirects)
        if let timeout = invocation.duration("timeout") { request.timeout = timeout }

        let line = TransferProgress(console, isForFile: file != nil)
        defer { line.clear() }
        let updates = HTTPProgressUpdates()
        let drawing = Task { for await progress in updates { line.show(progress) } }
        defer { drawing.cancel() }
        let shown = ResponseOutput(console, line: line, includesHead: invocation.flag("include"))
        let answer: HTTPStreamedResponse
        do {
            if let file {
                let download = try await transport.download(request, to: URL(filePath: file), progress: updates.report)
                line.end()
                answer = HTTPStreamedResponse(download.response)
                try shown.writeHead(answer)
                if download.file != nil { shown.note(download, at: file) } else { try await shown.write(answer) }
            } else {
                answer = try await transport.stream(request, progress: updates.report)
                try shown.writeHead(answer)
                try await shown.write(answer)
            }
        } catch let error as HTTPFileError {
            throw CommandError(file: error)
        } catch let error as HTTPTransportError where error.kind == .invalidRequest {
            throw CommandError(
                .usage, "the request cannot be sent", reason: error.reason, hint: "lodge help request")
        }
        guard let failure = CommandError(answering: answer, account: account) else { return .done }
        throw failure
    }

    /// The file of `--output`. The name of a format is most likely meant for another command.
    private func outputFile() throws -> String? {
        guard let file = invocation.string("output") else { return nil }
        if file == "-" { return nil }
        guard !OutputFormat.names.contains(file) else {
            throw CommandError(
                .usage, "--output of request names a file, not a format", reason: "the answer is shown as it comes",
                hint: "leave it out, or write ./\(file) for a file of this name")
        }
        return file
    }

    private static func field(_ text: String) throws -> HTTPFields.Field {
        let name = text.prefix { $0 != ":" }
        guard !name.isEmpty, name.count < text.count, !name.contains(" ") else {
            // Not shown: it may be a key.
            throw CommandError(
                .usage, "--header has no name", reason: "expected NAME: VALUE",
                hint: "--header 'Accept: application/json'")
        }
        let value = text.dropFirst(name.count + 1)
        let isText = value.unicodeScalars.allSatisfy { $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7F) }
        guard isText else {
            throw CommandError(
                .usage, "--header \(name) has a line break or another control character",
                reason: "a field is one line of text", hint: "give --header once for each field")
        }
        var rest = value
        while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
        return HTTPFields.Field(name: String(name), value: String(rest))
    }
}

extension HTTPStreamedResponse {
    /// An answer that is whole already.
    fileprivate init(_ response: HTTPResponse) {
        self.init(
            status: response.status, fields: response.fields, body: HTTPResponseBody(response.body), url: response.url)
    }
}

extension CommandError {
    /// A file that could not be read or written.
    init(file error: HTTPFileError) {
        self.init(
            .failed, "the file \(error.path) cannot be used", reason: error.reason,
            hint: "check its path and permissions")
    }

    /// What the status of an answer means; nil for one that is no failure.
    @MainActor
    init?(answering answer: HTTPStreamedResponse, account: Account?) {
        let head = HTTPResponse(status: answer.status, fields: answer.fields)
        let signIn: Hint = "\(AccountRemedy.signIn(type: account?.type))"
        let status: ExitStatus
        var reason: String?
        var hint: Hint?
        switch answer.status {
        case 200..<300, 304: return nil
        case 401:
            status = .signInNeeded
            reason = account == nil ? "it was sent without an account" : "the token was refused"
            hint = account == nil ? "send it without --no-account" : signIn
        case 403:
            status = .notPermitted
            let missing = head.scopeNeeded.flatMap { $0.text.isEmpty ? nil : $0.text }
            reason = missing.map { "it needs the permission \($0)" } ?? "the account may not do this"
            hint = "ask for the permission that it needs: \(signIn) --scope SCOPE"
            if let missing, let scope = account?.scope.union(Scope(parsing: missing)), scope.firstInvalidToken == nil,
                !scope.text.contains("'")
            {
                hint = "\(signIn) --scope '\(scope.text)'"
            }
        case 404:
            status = .notFound
            hint = "check the address"
        case 429, 502, 503, 504:
            status = .unavailable
            hint = "come back later"
            if let wait = head.retryAfter(now: Date()) {
                hint = "come back in \(Int((wait / .seconds(1)).rounded(.up))) s"
            }
        default:
            status = .failed
            reason = answer.status < 400 ? "it leads nowhere" : nil
        }
        let code = AuthenticationChallenge.challenges(in: answer.fields).lazy.compactMap { $0.parameters["error"] }
            .first
        let names = ["request-id", "x-request-id", "x-correlation-id", "x-ms-request-id", "x-github-request-id"]
        self.init(
            status, "the answer is HTTP \(answer.status)", reason: reason, hint: hint, code: code,
            requestID: names.lazy.compactMap { answer.fields[$0] }.first)
    }
}
