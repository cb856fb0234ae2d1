import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

@MainActor struct SearchCommand: CommandHandler {
    enum Input {
        static let text = Argument.words("TEXT", "beginning of the given name", optional: true)
        static let givenName = Option.text("given-name", "TEXT", "given name begins with")
        static let surname = Option.text("surname", "TEXT", "surname begins with")
        static let name = Option.text("name", "TEXT", "display name begins with")
        static let mail = Option.text("mail", "TEXT", "mail address begins with")
        static let upn = Option.text("upn", "TEXT", "user principal name begins with")
        static let department = Option.text("department", "TEXT", "department begins with")
        static let jobTitle = Option.text("job-title", "TEXT", "job title begins with")
        static let office = Option.text("office", "TEXT", "office begins with")
        static let any = Option.flag("any", "one condition is enough")
        static let filter = Option.text("filter", "FILTER", "an OData filter, as it is")
        static let search = Option.text(
            "search", "WORDS", "words of the display name, PROPERTY:TEXT, or a search in Graph's words")
        static let order = Option.texts("order", "FIELD", "sort by a field, FIELD:desc from the end")
        static let count = Option.flag("count", "say how many there are in all; with --limit 0 the number alone")
        static let fields = Option.text(
            "fields", "A,B", "fields to show, by Graph's names; manager.displayName for the manager's",
            completion: .field)
        static let limit = Option.integer(
            "limit", "N", "at most this many people (100), 0 only with --count", in: 0...10_000_000)
        static let all = Option.flag("all", "everybody who is found, without a condition everybody there is")
        static let pageSize = Option.integer("page-size", "N", "people a request (1 to 999)", in: 1...999)
        static let offline = Option.flag("offline", "search the copy that sync keeps")
        static let explain = Option.flag("explain", "print the request and send nothing")
        static let upnAsMail = Option.flag(
            "upn-as-mail", "with mutt and aerc: also users without mail, by UPN")
    }

    nonisolated static let command = Command(
        "search", "Find people.",
        discussion: """
            TEXT is the beginning of the given name. Several conditions must all hold; with --any one is enough. --search looks for \
            words of the display name instead. --all without a condition lists everybody; --count --limit 0 prints the number of people \
            and nobody. The request is an advanced one only where it has to be; --explain says why.
            """,
        examples: [
            "lodge search ada", "lodge search --surname O\\'Brien --output json",
            "lodge search --department Sales --fields mail,manager.displayName",
            "lodge search --department Sales --count --limit 0",
            "lodge search --output mutt ada lo",
        ], arguments: [Input.text],
        options: [
            Input.givenName, Input.surname, Input.name, Input.mail, Input.upn, Input.department, Input.jobTitle,
            Input.office, Input.any, Input.filter, Input.search, Input.order, Input.count, Input.fields, Input.limit,
            Input.all, Input.pageSize, Input.offline, Input.explain, Input.upnAsMail,
        ], formats: OutputFormat.ofUsers + [.mutt, .aerc],
        json: .array(
            of: [:],
            note: "Members are the properties of Graph, or those of --fields. --explain writes an object: method, url, "
                + "headers (object), body, notes (array); --count --limit 0 writes a number")
    ) { try await SearchCommand(context: $0).run() }

    let context: CommandContext

    private static let defaultLimit = 100

    func run() async throws -> ExitStatus {
        if invocation[Input.explain] {
            try checkFormat(of: "--explain", .table, .json)
            return try await explain(try query())
        }
        if printsCountOnly {
            try checkFormat(of: "--count --limit 0", .table, .json)
            return try await printNumber(try query())
        }
        if completesAddresses { return try await completeAddresses() }
        if invocation[Input.upnAsMail] {
            throw CommandError(
                .usage, "--upn-as-mail requires --output mutt or aerc", reason: "the format is \(format.rawValue)",
                hint: "lodge help search")
        }
        let query = try query()
        // Wrong queries are told before the store is opened, where the type is known by then.
        let settings = try? context.settings()
        let type = knownType(settings)
        let plan = try type?.plan(query) ?? (settings == nil && !namesAccount ? SearchPlan(query) : nil)
        let fields = try context.shownFields(format, Input.fields)
        let directory = try await context.userDirectory(settings, offline: invocation[Input.offline])
        let pages = plan.map { directory.pages(of: $0) } ?? directory.pages(matching: query)
        let writer = format.list(UserRecord.columns(fields, format), console)
        // Rows that come on the terminal are progress enough.
        let line = console.terminal.outputIsTerminal ? nil : ProgressLine(console)
        var count = 0
        var isCut = false
        var total: Int?
        do {
            for try await page in pages {
                for user in page.users { try writer.write(UserRecord(user: user, fields: fields)) }
                try writer.flush()
                count += page.users.count
                isCut = page.hasMore
                total = total ?? page.count
                line?.show(count, of: total, "people")
            }
            line?.clear()
        } catch {
            // What came is shown, and a list that was begun is ended, so that a reader of JSON is not left hanging.
            if count > 0 { try writer.finish() }
            throw error
        }
        try writer.finish()
        if invocation[Input.count], let total { console.note("\(total) in all.") }
        if count == 0 {
            console.note("Nobody is found. The search was: \(try await description(query, type, settings))")
            return .notFound
        }
        if isCut { console.advise("There are more users: --all lists all of them, --limit N lists more.") }
        return .done
    }

    private var printsCountOnly: Bool { invocation[Input.count] && invocation[Input.limit] == 0 }

    /// Throws if an option does not support the format.
    private func checkFormat(of option: String, _ formats: OutputFormat...) throws(CommandError) {
        guard !formats.contains(format) else { return }
        throw CommandError(
            .usage, "\(option) has no format \(format.rawValue)",
            reason: "it has \(OptionSpec.list(formats.map(\.rawValue)))", hint: "lodge help formats")
    }

    private var completesAddresses: Bool { format == .mutt || format == .aerc }

    private func completeAddresses() async throws -> ExitStatus {
        for option in [Input.all, Input.count] where invocation[option] {
            throw CommandError(
                .usage, "--\(option.spec.name) has no format \(format.rawValue)",
                reason: "mail programs show few users", hint: "lodge help search")
        }
        guard invocation[Input.fields] == nil else {
            throw CommandError(
                .usage, "--fields has no format \(format.rawValue)", reason: "the mail program expects its own columns",
                hint: "lodge help formats")
        }
        var query = try query()
        let limit = invocation[Input.limit] ?? AddressCompletion.maximumUsers
        query.limit = format == .aerc ? min(limit, AddressCompletion.maximumUsers) : limit
        query.pageSize = min(query.limit ?? 999, 999)
        query.select = AddressCompletion.properties
        let text = invocation[Input.text]
        return try await AddressCompletion(
            context: context, settings: try? context.settings(), query: query,
            words: filters().count == 1 && query.search == nil ? text : [], isOffline: invocation[Input.offline],
            usesUPN: invocation[Input.upnAsMail]
        ).run()
    }

    private func printNumber(_ query: UserQuery) async throws -> ExitStatus {
        let number = try await context.userDirectory(offline: invocation[Input.offline]).count(of: query)
        try console.writeLine(String(number))
        return number == 0 ? .notFound : .done
    }

    private var namesAccount: Bool { invocation[GlobalOptions.account] != nil && invocation[GlobalOptions.type] == nil }

    /// The type that the search is for; nil when only the account says it, or the settings cannot be read.
    private func knownType(_ settings: Settings?) -> AccountType? {
        guard let settings, !namesAccount, invocation[GlobalOptions.type] != nil || settings.types.count == 1 else {
            return nil
        }
        return settings[context.typeName(settings)]
    }

    private func description(
        _ query: UserQuery, _ known: AccountType?, _ settings: Settings?
    ) async throws -> String {
        var type = known
        if type == nil, let settings { type = try await context.activeType(settings) }
        if let type, let words = try type.filterText(of: query) { return words }
        let words = [try? query.filter?.odata(), invocation[Input.search]].compactMap { $0 }
        return words.isEmpty ? "everyone" : words.joined(separator: " and ")
    }

    // MARK: The query

    private func query() throws -> UserQuery {
        let isUnlimited = try invocation.prefers(Input.all, over: Input.limit)
        if !isUnlimited, invocation[Input.limit] == 0, !invocation[Input.count] {
            throw CommandError(
                .usage, "--limit 0 lists nobody",
                reason: "expected 1 or more, or --count beside it for the number alone",
                hint: "\(run: "search") ada --count --limit 0")
        }
        let limit = isUnlimited ? nil : invocation[Input.limit] ?? Self.defaultLimit
        // The largest page serves everybody with the fewest requests.
        let pageSize = invocation[Input.pageSize] ?? min(limit ?? 999, 999)
        let select = try context.fields(Input.fields) ?? UserQuery.defaultProperties
        var query = UserQuery.everyone(select: select, pageSize: pageSize, limit: limit)
        let filters = filters()
        if let first = filters.first {
            query.filter = filters.count == 1 ? first : invocation[Input.any] ? .any(of: filters) : .all(of: filters)
        }
        if let text = invocation[Input.search] { query.search = search(text) }
        // An empty search is nearly always a slip, and Graph would take it for everybody: who wants everybody says so.
        guard query.filter != nil || query.search != nil || isUnlimited || printsCountOnly else {
            throw DirectoryError(.emptySearch)
        }
        query.orderBy = try invocation[Input.order].flatMap { try order($0) }
        query.countsTotal = invocation[Input.count]
        return query
    }

    private func filters() -> [UserFilter] {
        var filters: [UserFilter] = []
        let text = invocation[Input.text]
        let words = text.flatMap { $0.split(whereSeparator: \.isWhitespace) }.map(String.init)
        if completesAddresses, !words.isEmpty {
            filters.append(.typed(words))
        } else if !text.isEmpty {
            filters.append(.givenName(startsWith: text.joined(separator: " ")))
        }
        let options: [(Option<String?>, (String) -> UserFilter)] = [
            (Input.givenName, UserFilter.givenName), (Input.surname, UserFilter.surname),
            (Input.name, UserFilter.displayName), (Input.mail, UserFilter.mail),
            (Input.upn, UserFilter.userPrincipalName), (Input.department, UserFilter.department),
            (Input.jobTitle, UserFilter.jobTitle), (Input.office, UserFilter.officeLocation),
        ]
        for (option, filter) in options {
            if let value = invocation[option] { filters.append(filter(value)) }
        }
        if let raw = invocation[Input.filter] { filters.append(.raw(raw)) }
        return filters
    }

    /// Words of the display name; with a property before a colon, the beginning of that; in double quotes, Graph's own words.
    private func search(_ text: String) -> UserSearch {
        if text.contains("\"") { return .raw(text) }
        if let colon = text.firstIndex(of: ":") {
            let name = text[..<colon]
            let isName = !name.isEmpty && name.utf8.allSatisfy { (0x41...0x5A).contains($0 & 0xDF) }
            if isName {
                return .property(UserProperty(rawValue: String(name)), String(text[text.index(after: colon)...]))
            }
        }
        return .displayName(text)
    }

    /// `displayName`, `displayName:desc` or `displayName desc`; several are separated by commas.
    private func order(_ text: String) throws -> [UserOrder] {
        try text.split(separator: ",").map { part in
            let words = part.split { $0 == " " || $0 == ":" }
            let direction = words.count > 1 ? words[1].lowercased() : "asc"
            guard let name = words.first, words.count <= 2, direction == "asc" || direction == "desc" else {
                throw CommandError(
                    .usage, "--order \"\(text)\" is not understood",
                    reason: "expected a field, and :desc behind it or not", hint: "--order displayName:desc")
            }
            return UserOrder(property: UserProperty(rawValue: String(name)), isDescending: direction == "desc")
        }
    }

    private func explain(_ query: UserQuery) async throws -> ExitStatus {
        let settings = try context.settings()
        let type = try await context.activeType(settings)
        guard let explanation = try type?.explanation(of: query, countOnly: printsCountOnly) else {
            throw CommandError(
                .settings, "no directory",
                reason: "the type \(type?.name ?? context.typeName(settings)) has no graphAPI and no directoryBase",
                hint: "name another type with --type")
        }
        if format == .json {
            try console.write(.object(RequestText(explanation).json))
        } else {
            try console.writeLine(explanation)
        }
        return .done
    }
}

/// A request as text, with notes below its fields and its body.
struct RequestText {
    let json: JSONObject

    init(_ text: String) {
        let blocks = text.split(separator: "\n\n").map { $0.split(separator: "\n").map(String.init) }
        let line = (blocks.first?.first ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        var headers = JSONObject()
        for field in (blocks.first ?? []).dropFirst() {
            guard let colon = field.firstIndex(of: ":") else { continue }
            headers[String(field[..<colon])] = .string(String(field[colon...].dropFirst(2)))
        }
        var object: JSONObject = ["method": .string(line.first ?? ""), "url": .string(line.last ?? "")]
        object.append("headers", .object(headers))
        var rest = blocks.dropFirst()
        let body = rest.first.flatMap { try? JSONValue(parsing: $0.joined(separator: "\n")) }
        if body != nil { rest = rest.dropFirst() }
        object.append("body", body ?? .null)
        object.append("notes", .array(rest.flatMap { $0 }.map { .string($0) }))
        json = object
    }
}
