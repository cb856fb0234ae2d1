import CommandLineKit
import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

@MainActor struct RequestCommand: CommandHandler {
    enum Input {
        static let method = Argument.required("METHOD", "GET, POST, PUT, PATCH, DELETE, HEAD or another")
        static let url = Argument.required("URL", "https URL, or a path below the type's API")
        static let header = Option.texts(
            "header", "NAME: VALUE", "header field to send")
        static let data = Option.text(
            "data", "TEXT", "content, or @FILE, or @- for standard input", allowsEmpty: true,
            completion: .content)
        static let json = Option.text(
            "json", "JSON", "content as JSON, or @FILE, or @-", completion: .content)
        static let form = Option.texts(
            "form", "NAME=VALUE", "field of a form")
        static let part = Option.texts(
            "part", "NAME=VALUE", "part of a multipart form; NAME=@FILE;type=TYPE;filename=NAME for a file",
            completion: .part)
        static let output = Option.text(
            "output", short: "o", "FILE", "write the content to this file", completion: .file)
        static let include = Option.flag(
            "include", short: "i", "show the status and the header fields before the content")
        static let paginate = Option.flag("paginate", "with GET: also write all next pages")
        static let retry = Option.integer("retry", "N", "at most N retries if the service is busy (0)", in: 0...10)
        static let noAccount = Option.flag(
            "no-account", "send it without a token")
        static let scope = Option.texts(
            "scope", "SCOPE", "require this scope")
    }

    nonisolated static let command = Command(
        "request", "Send an authorized request to an API.",
        discussion: """
            URL is an https URL of a host in the account type (graphAPI, resourceHosts), or a path below its API, such as /me. \
            Without --account and --type, lodge uses the account type whose resources include the URL. Content is one of --data, --json, \
            --form and --part; @FILE is a file, @- standard input. With GET and HEAD, --form extends the query. --retry obeys Retry-After. \
            lodge never sends the token to another origin. The exit status is 0 for 2xx, 4 for 401, 5 for 403, 3 for 404, 6 for 429, 502, 503 and \
            504, 1 for other errors. LODGE_OUTPUT=json writes errors as objects.
            """,
        examples: [
            "lodge request GET /me", "lodge request POST /users --json @person.json",
            "lodge request PUT https://api.example/photo --data @ada.jpg",
            "lodge request POST https://api.example/files --part file=@ada.pdf",
            "lodge request GET '/users?$top=100' --paginate --retry 3",
        ], arguments: [Input.method, Input.url],
        options: [
            Input.header, Input.data, Input.json, Input.form, Input.part, Input.output, Input.include, Input.paginate,
            Input.retry, Input.noAccount, Input.scope,
        ], formats: OutputFormat.ofText
    ) { try await RequestCommand(context: $0).run() }

    let context: CommandContext

    private static let maximumRedirects = 10

    func run() async throws -> ExitStatus {
        // `--output` of this command names a file, so only LODGE_OUTPUT can select JSON for errors.
        console.options.reportsJSON = context.world.environment["LODGE_OUTPUT"] == OutputFormat.json.rawValue
        let file = try outputFile()
        let content = try RequestContent(invocation)
        var header = HTTPFields()
        for text in invocation[Input.header] {
            let field = try Self.field(text)
            header.append(name: field.name, value: field.value)
        }
        let isSigned = !invocation[Input.noAccount]
        let settings = try isSigned ? context.settings() : nil
        // A path is relative to the API URL in the settings, so it requires them even without an account.
        let address = invocation[Input.url]
        let isPath = address.hasPrefix("/")
        let named = try settings ?? (isPath ? context.settings() : nil)

        var type: AccountType?
        var account: Account?
        var openStore: AccountStore?
        var transport: any HTTPTransport
        if let settings {
            let scopes = try invocation.scope(Input.scope)
            let store = try await context.store(settings)
            let found = try await context.account(store, for: address)
            account = found
            openStore = store
            type = try settings.type(named: found.type)
            transport = found.transport(in: store, scopes: scopes)
            if header["Authorization"] != nil {
                console.note(
                    "The account's token replaces the Authorization header. To send your own, use --no-account.")
            }
        } else {
            type = try named.flatMap { try $0.type(named: context.typeName($0)) }
            transport = context.dependencies().transport(type?.caFile)
        }
        let url = try RequestURL(type: type).url(address)
        let method = HTTPMethod(rawValue: invocation[Input.method].uppercased())
        var request = HTTPRequest(method, url, fields: header)
        let inputs = try content.put(into: &request, readingInput: context.world.copyInput)
        defer { for input in inputs { input.remove() } }
        request.redirects = .follow(limit: Self.maximumRedirects)
        if let timeout = invocation[GlobalOptions.timeout] { request.timeout = timeout }

        try checkPages(method, file)
        let line = TransferProgress(console, isForFile: file != nil)
        defer { line.clear() }
        let updates = HTTPProgressUpdates()
        let drawing = Task { for await progress in updates { line.show(progress) } }
        defer { drawing.cancel() }
        let shown = ResponseOutput(console: console, line: line, includesHead: invocation[Input.include])
        let retries = RequestRetries(
            limit: invocation[Input.retry] ?? 0, sleep: context.dependencies().sleep, report: ActivityReport(console))
        func send() async throws -> (response: HTTPStreamedResponse, download: HTTPDownload?) {
            try await retries.run(request) { request in
                guard let file else { return (try await transport.stream(request, progress: updates.report), nil) }
                let download = try await transport.download(request, to: URL(filePath: file), progress: updates.report)
                return (HTTPStreamedResponse(download.response), download)
            } response: {
                HTTPResponse(status: $0.response.status, fields: $0.response.fields)
            }
        }
        var response: HTTPStreamedResponse
        var pages = invocation[Input.paginate] ? RequestPages(first: url) : nil
        do {
            repeat {
                var download: HTTPDownload?
                (response, download) = try await send()
                if let store = openStore, let current = account,
                    try await ScopeRequest(context: context, store: store).grants(
                        response, from: request.url, to: current)
                {
                    // The user signed in again with the scopes that the response requires. Send the request once more,
                    // and report a second rejection.
                    account = try await store.account(current.id)
                    (response, download) = try await send()
                }
                if let file, let download {
                    line.end()
                    try shown.writeHead(response)
                    if download.file != nil { shown.note(download, at: file) } else { try await shown.write(response) }
                } else {
                    try shown.writeHead(response)
                    if response.status == 200, pages != nil {
                        let page = try await response.whole(limit: RequestPages.maximumSize)
                        try await shown.write(HTTPStreamedResponse(page))
                        // Each page is a separate JSON text, so start the next one on a new line.
                        if !console.terminal.outputIsTerminal, page.body.last != 0x0A { try console.writeLine() }
                        guard let next = try pages?.next(after: page) else { return .done }
                        request.url = next
                    } else {
                        try await shown.write(response)
                        pages = nil
                    }
                }
            } while pages != nil
        } catch let error as AccountStoreError where error.remedy == .signInAgain {
            // Name the type in the remedy, because it can differ from the default type.
            throw CommandError(reporting: error, type: account?.type, remedyText: invocation.remedyText)
        } catch let error as HTTPFileError {
            throw CommandError(file: error)
        } catch let error as HTTPTransportError where error.kind == .invalidRequest {
            throw CommandError(
                .usage, "cannot send the request", reason: error.reason, hint: "lodge help request")
        }
        guard let failure = CommandError(answering: response, account: account) else { return .done }
        throw failure
    }

    private func checkPages(_ method: HTTPMethod, _ file: String?) throws(CommandError) {
        guard invocation[Input.paginate] else { return }
        guard method == .get else {
            throw CommandError(
                .usage, "--paginate requires GET", reason: "only GET returns pages", hint: "omit --paginate")
        }
        guard file == nil else {
            throw CommandError(
                .usage, "--paginate cannot be combined with --output", reason: "several pages are not one download",
                hint: "redirect standard output to a file")
        }
    }

    /// Returns the file of `--output`, or `nil` for standard output.
    ///
    /// Throws an error if the value is the name of a format, which the other commands accept here.
    private func outputFile() throws -> String? {
        guard let file = invocation[Input.output] else { return nil }
        if file == "-" { return nil }
        guard !OutputFormat.names.contains(file) else {
            throw CommandError(
                .usage, "--output of request is a file, not a format", reason: "request prints the response unchanged",
                hint: "omit it, or write ./\(file) for a file of this name")
        }
        return file
    }

    private static func field(_ text: String) throws -> HTTPFields.Field {
        let name = text.prefix { $0 != ":" }
        guard !name.isEmpty, name.count < text.count, !name.contains(" ") else {
            // The error does not quote the text, because without a name it may be a secret.
            throw CommandError(
                .usage, "--header has no name", reason: "expected NAME: VALUE",
                hint: "--header 'Accept: application/json'")
        }
        let value = text.dropFirst(name.count + 1)
        let isText = value.unicodeScalars.allSatisfy { $0 == "\t" || ($0.value >= 0x20 && $0.value != 0x7F) }
        guard isText else {
            throw CommandError(
                .usage, "--header \(name) has a line break or another control character",
                reason: "a field is one line of text", hint: "use --header once for each field")
        }
        var rest = value
        while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
        return HTTPFields.Field(name: String(name), value: String(rest))
    }
}

extension HTTPStreamedResponse {
    fileprivate init(_ response: HTTPResponse) {
        self.init(
            status: response.status, fields: response.fields, body: HTTPResponseBody(response.body), url: response.url)
    }
}

extension CommandError {
    init(file error: HTTPFileError) {
        self.init(
            .failed, "cannot use the file \(error.path)", reason: error.reason,
            hint: "check its path and permissions")
    }

    /// Creates the error for the status of a response, or returns `nil` for a success.
    @MainActor init?(answering response: HTTPStreamedResponse, account: Account?) {
        let head = HTTPResponse(status: response.status, fields: response.fields)
        let signIn: Hint = "\(AccountRemedy.signIn(type: account?.type))"
        let status: ExitStatus
        var reason: String?
        var hint: Hint?
        switch response.status {
        case 200..<300, 304: return nil
        case 401:
            status = .signInNeeded
            reason = account == nil ? "it was sent without an account" : "the API rejected the token"
            hint = account == nil ? "send it without --no-account" : signIn
        case 403:
            status = .notPermitted
            let missing = head.scopeNeeded.flatMap { $0.text.isEmpty ? nil : $0.text }
            reason = missing.map { "it needs the permission \($0)" } ?? "the account lacks the permission"
            hint = "request the required permission: \(signIn) --scope SCOPE"
            if let missing, let scope = account?.scope.union(Scope(parsing: missing)), scope.firstInvalidToken == nil,
                !scope.text.contains("'")
            {
                hint = "\(signIn) --scope '\(scope.text)'"
            }
        case 404:
            status = .notFound
            hint = "check the URL"
        case 429, 502, 503, 504:
            status = .unavailable
            hint = "retry later"
            if let wait = head.retryAfter(now: Date()) {
                hint = "retry in \(wait.wholeSeconds) s"
            }
        case 511:
            status = .network
            reason = "the network requires a sign-in"
            hint = "open a browser to sign in to the network"
        default:
            status = .failed
            reason = response.status < 400 ? "its Location is unusable" : nil
        }
        let code = AuthenticationChallenge.challenges(in: response.fields).lazy.compactMap { $0.parameters["error"] }
            .first
        let names = ["request-id", "x-request-id", "x-correlation-id", "x-ms-request-id", "x-github-request-id"]
        self.init(
            status, "the response is HTTP \(response.status)", reason: reason, hint: hint, code: code,
            requestID: names.lazy.compactMap { response.fields[$0] }.first)
    }
}
