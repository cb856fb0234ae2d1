import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

@MainActor struct SearchCommand: CommandHandler {
    enum Input {
        static let text = Argument.words("TEXT", "start of one or more names or addresses", optional: true)
        static let givenName = Option.text("given-name", "TEXT", "the given name starts with TEXT")
        static let surname = Option.text("surname", "TEXT", "the surname starts with TEXT")
        static let name = Option.text("name", "TEXT", "the display name starts with TEXT")
        static let mail = Option.text("mail", "TEXT", "the mail address starts with TEXT")
        static let upn = Option.text("upn", "TEXT", "the user principal name starts with TEXT")
        static let department = Option.text("department", "TEXT", "the department starts with TEXT")
        static let jobTitle = Option.text("job-title", "TEXT", "the job title starts with TEXT")
        static let office = Option.text("office", "TEXT", "the office starts with TEXT")
        static let any = Option.flag("any", "find users who match at least one of the conditions (default: all)")
        static let filter = Option.text(
            "filter", "FILTER", "a filter in the directory's own language (OData for Graph)")
        static let search = Option.text(
            "search", "WORDS", "the display name has these words; or PROPERTY:TEXT, or a search in Graph's syntax")
        static let order = Option.texts("order", "FIELD", "sort by a field; FIELD:desc sorts in reverse")
        static let count = Option.flag("count", "print the total number of matches; with --limit 0 only this number")
        static let fields = Option.text(
            "fields", "A,B", "fields to show, by Graph's names; manager.displayName for the manager's",
            completion: .field)
        static let limit = Option.integer(
            "limit", "N", "list at most this number of users (100); 0 requires --count", in: 0...10_000_000)
        static let all = Option.flag("all", "list all matches; without a condition, all users")
        static let pageSize = Option.integer("page-size", "N", "users for each request, 1 to 999", in: 1...999)
        static let offline = Option.flag("offline", "search the offline copy of lodge sync")
        static let explain = Option.flag("explain", "print the request without sending it")
        static let upnAsMail = Option.flag("upn-as-mail", "with mutt and aerc: also users without mail, by UPN")
    }

    nonisolated static let command = Command(
        "search", "Search for users.",
        discussion: """
            TEXT finds users whose given name, surname, display name, mail address or user name starts with TEXT, or with each of its \
            words. Each page lists the best matches first, unless --order is given. --offline ignores accents.
            """,
        examples: [
            "lodge search ada", "lodge search ada lovelace", "lodge search --surname O\\'Brien --output json",
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
            note:
                "Members are the properties of Graph, or the fields of --fields. --explain writes an object: method, url, "
                + "headers (object), body, notes (array); --count --limit 0 writes a number")
    ) { try await SearchCommand(context: $0).run() }

    let context: CommandContext

    private static let defaultLimit = 100
    private static let maximumPage = 999

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
        // Report invalid queries before opening the store, if the account type is already known.
        let settings = try? context.settings()
        let type = knownType(settings)
        let plan = try type?.plan(query) ?? (settings == nil && !namesAccount ? SearchPlan(query) : nil)
        let fields = try context.shownFields(format, Input.fields)
        let directory = try await context.userDirectory(settings, offline: invocation[Input.offline])
        let pages = try ranked(plan.map { directory.pages(of: $0) } ?? directory.pages(matching: query))
        let writer = format.list(UserRecord.columns(fields, format), console)
        // Rows on the terminal already show the progress.
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
            // Show the received users and finish the list, so that JSON output is well-formed.
            if count > 0 { try writer.finish() }
            throw error
        }
        try writer.finish()
        if invocation[Input.count], let total { console.note("\(total) in all.") }
        if count == 0 {
            SearchDescription(invocation).note(in: context)
            return .notFound
        }
        if isCut { console.advise("There are more users: --all lists all of them, --limit N lists more.") }
        return .done
    }

    private var printsCountOnly: Bool { invocation[Input.count] && invocation[Input.limit] == 0 }

    /// Throws if an option does not support the output format.
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

    /// Returns the account type of the search, or `nil` if it depends on the account or the settings cannot be read.
    private func knownType(_ settings: Settings?) -> AccountType? {
        guard let settings, !namesAccount, invocation[GlobalOptions.type] != nil || settings.typeNames.count == 1 else {
            return nil
        }
        return settings[context.typeName(settings)]
    }

    // MARK: Sort order

    /// The typed text, if results are ranked by it.
    private var rankingText: SearchText? {
        let text = SearchText(invocation[Input.text].joined(separator: " "))
        return text.words.isEmpty || !invocation[Input.order].isEmpty ? nil : text
    }

    /// Returns the pages ranked by relevance, without properties that only the ranking needs.
    private func ranked(_ pages: UserPages) throws -> UserPages {
        guard let text = rankingText else { return pages }
        return pages.ranked(
            by: text, removing: Set(Self.rankingProperties(beyond: try selection())), limit: try limit())
    }

    /// Returns the properties that only the ranking needs.
    private static func rankingProperties(beyond select: [String]) -> [String] {
        // Directories ignore the case of property names.
        let selected = Set(select.map { $0.lowercased() })
        return SearchText.properties.map(\.rawValue).filter { !selected.contains($0.lowercased()) }
    }

    // MARK: The query

    private func selection() throws -> [String] { try context.fields(Input.fields) ?? UserQuery.defaultProperties }

    /// Returns the maximum number of users, or `nil` for all.
    private func limit() throws -> Int? {
        try invocation.prefers(Input.all, over: Input.limit) ? nil : invocation[Input.limit] ?? Self.defaultLimit
    }

    private func query() throws -> UserQuery {
        let limit = try limit()
        if limit == 0, !invocation[Input.count] {
            throw CommandError(
                .usage, "--limit 0 requires --count",
                hint: "to print only the number, run: \(run: "search") ada --count --limit 0")
        }
        var select = try selection()
        var pageSize = min(limit ?? Self.maximumPage, Self.maximumPage)
        if rankingText != nil {
            select += Self.rankingProperties(beyond: select)
            // With a small limit, rank a full page instead of the first users of the directory.
            pageSize = max(pageSize, Self.defaultLimit)
        }
        // The maximum page size needs the fewest requests.
        var query = UserQuery.everyone(
            select: select, pageSize: invocation[Input.pageSize] ?? pageSize, limit: rankingText == nil ? limit : nil)
        let filters = filters()
        if let first = filters.first {
            query.filter = filters.count == 1 ? first : invocation[Input.any] ? .any(of: filters) : .all(of: filters)
        }
        if let text = invocation[Input.search] { query.search = search(text) }
        // An empty search is usually a mistake, and Graph would return all users. Listing all users requires --all.
        guard query.filter != nil || query.search != nil || limit == nil || printsCountOnly else {
            throw DirectoryError(.emptySearch)
        }
        query.orderBy = try invocation[Input.order].flatMap { try order($0) }
        query.countsTotal = invocation[Input.count]
        return query
    }

    private func filters() -> [UserFilter] {
        var filters: [UserFilter] = []
        let text = invocation[Input.text]
        if !text.isEmpty { filters.append(.matching(SearchText(text.joined(separator: " ")))) }
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

    private func search(_ text: String) -> UserSearch {
        switch SearchOption(text) {
        case .raw: .raw(text)
        case .property(let name, let start): .property(UserProperty(rawValue: name), start)
        case .words: .displayName(text)
        }
    }

    /// Parses `displayName`, `displayName:desc` or `displayName desc`, separated by commas.
    private func order(_ text: String) throws -> [UserOrder] {
        try text.split(separator: ",").map { part in
            let words = part.split { $0 == " " || $0 == ":" }
            let direction = words.count > 1 ? words[1].lowercased() : "asc"
            guard let name = words.first, words.count <= 2, direction == "asc" || direction == "desc" else {
                throw CommandError(
                    .usage, "--order \"\(text)\" is not understood",
                    reason: "expected a field, optionally followed by :desc", hint: "--order displayName:desc")
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
                hint: "use another type with --type")
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
