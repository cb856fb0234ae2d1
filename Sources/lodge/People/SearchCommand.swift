import CommandLineKit
import DirectorySearch
import OAuth2AccountStore

/// `search`
@MainActor
struct SearchCommand {
    private let context: CommandContext
    private let invocation: Invocation

    /// How many people a search gives unless told.
    private static let standardLimit = 100

    init(_ context: CommandContext) {
        self.context = context
        invocation = context.invocation
    }

    func run() async throws -> ExitStatus {
        let query = try query()
        if invocation.flag("explain") { return try explain(query) }
        if wantsNumberAlone { return try await printNumber(query) }
        // Wrong queries are told before the store is opened, where the type is known by then.
        let settings = try? context.settings()
        let type = knownType(settings)
        if let type { try type.check(query) } else if !namesAccount { _ = try query.plan() }
        let format = OutputFormat(invocation)
        let fields = try context.shownFields(format)
        let pages = try await context.people(settings).pages(matching: query)
        let writer = format.list(UserRecord.columns(fields, format), context.console)
        // Rows that come on the terminal are progress enough.
        let line = context.console.terminal.outputIsTerminal ? nil : ProgressLine(context.console)
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
        if invocation.flag("count"), let total { context.console.note("\(total) in all.") }
        if count == 0 {
            context.console.note("Nobody is found. The search was: \(try description(query, type))")
            return .notFound
        }
        if isCut { context.console.note("There are more. --all lists everybody, --limit N more of them.") }
        return .done
    }

    /// Whether only the number is wanted: `--count --limit 0`.
    private var wantsNumberAlone: Bool { invocation.flag("count") && invocation.integer("limit") == 0 }

    /// Prints how many people there are, as a number alone in every format.
    private func printNumber(_ query: UserQuery) async throws -> ExitStatus {
        let number = try await context.people().count(of: query)
        try context.console.writeLine(String(number))
        return number == 0 ? .notFound : .done
    }

    private var namesAccount: Bool { invocation.string("account") != nil && invocation.string("type") == nil }

    /// The type that the search is for; nil when only the account says it, or the settings cannot be read.
    private func knownType(_ settings: Settings?) -> AccountType? {
        guard !namesAccount, let settings else { return nil }
        return settings[context.typeName(settings)]
    }

    /// The search in the directory's words.
    private func description(_ query: UserQuery, _ type: AccountType?) throws -> String {
        if let type, let words = try type.words(of: query) { return words }
        let words = [try? query.filter?.odata(), invocation.string("search")].compactMap { $0 }
        return words.isEmpty ? "everyone" : words.joined(separator: " and ")
    }

    // MARK: The query

    private func query() throws -> UserQuery {
        let choice = try invocation.chosen("all", or: "limit")
        if choice != "all", invocation.integer("limit") == 0, !invocation.flag("count") {
            throw CommandError(
                .usage, "--limit 0 lists nobody",
                reason: "expected 1 or more, or --count beside it for the number alone",
                hint: "\(run: "search") ada --count --limit 0")
        }
        let limit = choice == "all" ? nil : invocation.integer("limit") ?? Self.standardLimit
        // The largest page serves everybody with the fewest requests.
        let pageSize = invocation.integer("page-size") ?? min(limit ?? 999, 999)
        let select = try context.fields() ?? UserQuery.defaultProperties
        var query = UserQuery.everyone(select: select, pageSize: pageSize, limit: limit)
        let filters = filters()
        if let first = filters.first {
            query.filter = filters.count == 1 ? first : invocation.flag("any") ? .any(of: filters) : .all(of: filters)
        }
        if let text = invocation.string("search") { query.search = search(text) }
        // An empty search is nearly always a slip, and Graph would take it for everybody: who wants everybody says so.
        guard query.filter != nil || query.search != nil || choice == "all" || wantsNumberAlone else {
            throw DirectoryError(.emptySearch)
        }
        query.orderBy = try invocation.strings("order").flatMap { try order($0) }
        query.countsTotal = invocation.flag("count")
        return query
    }

    private func filters() -> [UserFilter] {
        var filters: [UserFilter] = []
        let text = invocation.arguments("TEXT")
        if !text.isEmpty { filters.append(.givenName(startsWith: text.joined(separator: " "))) }
        let options: [(String, (String) -> UserFilter)] = [
            ("given-name", UserFilter.givenName), ("surname", UserFilter.surname), ("name", UserFilter.displayName),
            ("mail", UserFilter.mail), ("upn", UserFilter.userPrincipalName), ("department", UserFilter.department),
            ("job-title", UserFilter.jobTitle), ("office", UserFilter.officeLocation),
        ]
        for (name, filter) in options {
            if let value = invocation.string(name) { filters.append(filter(value)) }
        }
        if let raw = invocation.string("filter") { filters.append(.raw(raw)) }
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
                    reason: "expected a field, and :desc behind it or not",
                    hint: "--order displayName:desc")
            }
            return UserOrder(property: UserProperty(rawValue: String(name)), isDescending: direction == "desc")
        }
    }

    private func explain(_ query: UserQuery) throws -> ExitStatus {
        let settings = try context.settings()
        let name = context.typeName(settings)
        guard let explanation = try settings[name]?.explanation(of: query, countOnly: wantsNumberAlone) else {
            throw CommandError(
                .settings, "no directory", reason: "the type \(name) has no graphAPI and no directoryBase",
                hint: "name another type with --type")
        }
        try context.console.writeLine(explanation)
        return .done
    }
}
