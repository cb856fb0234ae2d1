import DirectorySearch
import OAuth2AccountStore
import StrictJSON

/// `search`, `show` and `me`
@MainActor
struct PeopleCommand {
    private let context: CommandContext
    private let invocation: Invocation

    /// How many people a search gives unless told.
    private static let standardLimit = 100

    init(_ context: CommandContext) {
        self.context = context
        invocation = context.invocation
    }

    func me() async throws -> ExitStatus {
        let user = try await directory().me()
        try OutputFormat(invocation).show(PersonRecord(user: user), context.console)
        return .done
    }

    func show() async throws -> ExitStatus {
        let name = invocation.argument("USER") ?? ""
        do {
            let user = try await directory().user(name)
            try OutputFormat(invocation).show(PersonRecord(user: user), context.console)
            return .done
        } catch let error as DirectoryError where error.kind == .notFound {
            throw CommandError(
                .notFound, "nobody is found for \(name)", reason: error.displayMessage,
                hint: "directory search finds people by name", code: error.code, requestID: error.requestID)
        }
    }

    func search() async throws -> ExitStatus {
        let query = try query()
        if invocation.flag("explain") { return try explain(query) }
        let pages = try await directory().pages(matching: query)
        let writer = OutputFormat(invocation).list(PersonRecord.columns, context.console)
        var count = 0
        var isCut = false
        do {
            for try await page in pages {
                for user in page.users { try writer.write(PersonRecord(user: user)) }
                try writer.flush()
                count += page.users.count
                isCut = page.hasMore
            }
        } catch {
            // What came is shown, and a list that was begun is ended, so that a reader of JSON is not left hanging.
            if count > 0 { try writer.finish() }
            throw error
        }
        try writer.finish()
        if count == 0 {
            context.console.note("Nobody is found. The search was: \(try query.filter?.odata() ?? "everyone")")
            return .notFound
        }
        if isCut { context.console.note("There are more. --all lists everybody, --limit N more of them.") }
        return .done
    }

    private func query() throws -> UserQuery {
        var filters: [UserFilter] = []
        let text = invocation.arguments("TEXT")
        if !text.isEmpty { filters.append(.givenName(startsWith: text.joined(separator: " "))) }
        let options: [(String, (String) -> UserFilter)] = [
            ("given-name", UserFilter.givenName), ("surname", UserFilter.surname), ("name", UserFilter.displayName),
            ("mail", UserFilter.mail), ("upn", UserFilter.userPrincipalName), ("department", UserFilter.department),
            ("job-title", UserFilter.jobTitle),
        ]
        for (name, filter) in options {
            if let value = invocation.string(name) { filters.append(filter(value)) }
        }
        if let raw = invocation.string("filter") { filters.append(.raw(raw)) }
        guard let first = filters.first else { throw DirectoryError(.emptySearch) }
        if invocation.flag("all"), invocation.integer("limit") != nil {
            throw CommandError(.usage, "--all and --limit exclude each other", hint: "directory help search")
        }
        let filter = filters.count == 1 ? first : invocation.flag("any") ? .any(of: filters) : .all(of: filters)
        let limit = invocation.flag("all") ? nil : invocation.integer("limit") ?? Self.standardLimit
        // The largest page serves everybody with the fewest requests.
        let pageSize = invocation.integer("page-size") ?? min(limit ?? 999, 999)
        let query = UserQuery(filter, pageSize: pageSize, limit: limit)
        // Wrong queries are told before the store is opened.
        _ = try query.requestTarget()
        return query
    }

    private func explain(_ query: UserQuery) throws -> ExitStatus {
        let settings = try context.settings()
        let name = context.typeName(settings)
        guard let type = settings[name], let base = type.graphAPI?.absoluteString else {
            throw CommandError(
                .settings, "no directory", reason: "the type \(name) has no graphAPI",
                hint: "name another type with --type")
        }
        let root = base.hasSuffix("/") ? base : base + "/"
        try context.console.writeLine("GET \(root)\(type.graphVersion)/\(try query.requestTarget())")
        return .done
    }

    private func directory() async throws -> GraphDirectory {
        let store = try await context.store(try context.settings())
        var retry = RetryPolicy()
        // A wait that would outlast the command ends it at once, with what the directory said.
        if let timeout = invocation.duration("timeout") { retry.totalDelay = min(timeout, retry.totalDelay) }
        return GraphDirectory(account: try await context.account(store), in: store, retry: retry)
    }
}
