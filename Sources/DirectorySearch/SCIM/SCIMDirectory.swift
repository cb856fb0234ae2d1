import StrictJSON

/// The people of a directory that speaks SCIM 2.0.
///
/// Questions are asked in Graph's names and answered with Graph's names: a filter for `surname` compares `name.familyName`, and the
/// answer's `title` is ``User/jobTitle``. What SCIM cannot say is refused with what would work instead.
///
/// RFC 7643, RFC 7644
public struct SCIMDirectory: UserDirectory {
    static let mediaType = "application/scim+json"

    private let directory: CursorPagedDirectory

    /// The directory behind this connection: its base is the address below which `Users` is.
    public init(connection: DirectoryConnection) {
        self.init { connection }
    }

    /// The directory behind a connection that is looked up when it is first needed, at the beginning of each operation. What it
    /// throws is given to the caller as it is.
    public init(connecting connect: @escaping @Sendable () async throws -> DirectoryConnection) {
        directory = CursorPagedDirectory(connect, speaking: .scim, reading: Self.reading)
    }

    /// The people of a query, page by page. Nothing is sent before the first page is asked for.
    public func pages(matching query: UserQuery) -> UserPages { directory.pages(matching: query) }

    /// The signed-in person, where the service offers `/Me` (RFC 7644 section 3.11).
    ///
    /// - Throws: ``DirectoryError``, of the kind `notSupported` where it does not; what the transport and the authorization throw;
    ///   `CancellationError`.
    public func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        let selection = try Self.selection(select)
        let connection = try await directory.connect()
        do {
            return try await Self.user(
                at: "Me?\(selection)", connection: connection, budget: connection.makeBudget())
        } catch var error as DirectoryError where error.kind == .notFound {
            error.kind = .notSupported
            throw error
        }
    }

    /// One person, by identifier, else by sign-in name, else by mail address.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notFound` when there is no such person, `emptySearch` for an empty text,
    ///   `ambiguous` when several have the name or the mail address; what the transport and the authorization throw;
    ///   `CancellationError`.
    public func user(_ name: String, select: [String] = UserQuery.defaultProperties) async throws -> User {
        let connection = try await directory.connect()
        return try await Self.find(name, select, connection, connection.makeBudget())
    }

    /// One person, and who and what is around them: manager and groups as the service names them with the person, reports by a search.
    /// SCIM knows no photo: that part is not asked for.
    ///
    /// - Throws: as ``user(_:select:)``. What goes wrong with a part is told in the part.
    public func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let connection = try await directory.connect()
        let budget = connection.makeBudget()
        var wanted = select
        if parts.contains(.manager) { wanted.append("manager") }
        if parts.contains(.groups) { wanted.append("groups") }
        let user = try await Self.find(name, wanted, connection, budget)
        var detail = UserDetail(user: user)
        if parts.contains(.manager) {
            if let manager = user.manager?.id {
                detail.manager = try await UserDetail.Part {
                    try await Self.user(manager, UserQuery.defaultProperties, connection, budget)
                }
            } else {
                detail.manager = .none
            }
        }
        if parts.contains(.reports), let id = user.id {
            let query = UserQuery(
                .property("manager/id", equals: id), select: ["id", "displayName", "mail"], pageSize: 200)
            detail.reports = try await .reports(
                of: directory.pages(matching: query, connection, budget))
        }
        if parts.contains(.groups) {
            let groups = (user["groups"]?.array ?? []).compactMap(\.object).map(Self.group)
            detail.groups = groups.isEmpty ? .none : .value(groups)
        }
        return detail
    }

    /// Many people by identifier, sign-in name or mail address: one after the other, a few at a time, answers in the order of the
    /// names.
    public func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { [connect = directory.connect] in
            SequentialLookups(
                connect: {
                    // What is wrong with the question as a whole is told before anything is sent.
                    _ = try SCIMAttribute.selection(select)
                    return try await connect()
                }, names: names.makeAsyncIterator()
            ) { connection, name in
                try await Self.find(name, select, connection, connection.makeBudget())
            }
        }
    }

    // MARK: Requests

    private static func selection(_ select: [String]) throws(DirectoryError) -> String {
        "attributes=" + ODataEscaping.queryValue(try SCIMAttribute.selection(select))
    }

    private static func find(
        _ name: String, _ select: [String], _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> User {
        try name.checkIsName()
        var absence = DirectoryError(.notFound)
        // An identifier is the service's own and hardly a mail address; a question less for all others.
        if !name.contains("@") {
            do {
                return try await user(name, select, connection, budget)
            } catch let error as DirectoryError where error.kind == .notFound || error.kind == .badRequest {
                // Some services refuse what is not in the form of their identifiers.
                if error.kind == .notFound { absence = error }
            }
        }
        for property in [UserProperty.userPrincipalName, .mail] where property != .mail || name.contains("@") {
            let query = UserQuery(.property(property, equals: name), select: select, limit: 2)
            var pages = CursorPages(connect: { connection }, query: query, reading: reading, budget: budget)
            var found: [User] = []
            while found.count < 2, let page = try await pages.next() { found += page.users }
            guard found.count < 2 else { throw DirectoryError(.ambiguous) }
            if let user = found.first { return user }
        }
        throw absence
    }

    private static func user(
        _ identifier: String, _ select: [String], _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> User {
        try await user(
            at: "Users/\(ODataEscaping.pathSegment(identifier))?\(try selection(select))", connection: connection,
            budget: budget)
    }

    private static func user(
        at target: String, connection: GraphConnection, budget: RetryBudget
    ) async throws -> User {
        let answer = try await connection.answer(
            to: GraphConnection.Question(
                address: "\(connection.base)/\(target)", accept: mediaType, permissions: []), budget: budget)
        let object = try answer.object()
        // A list or a failure with status 200 is no person.
        guard object["id"]?.string != nil else { throw answer.unreadable("it is no user: the id is missing") }
        return User(scim: object)
    }

    // MARK: Answers

    static let reading = CursorPages.Reading(
        request: { query, place throws(DirectoryError) in try query.scimRequest(at: place) },
        page: { answer, place throws(DirectoryError) in
            let (members, elements) = try answer.list("Resources") { $0["totalResults"]?.number?.int64 == 0 }
            let users = elements.map { User(scim: $0.value.object ?? JSONObject()) }
            guard let total = members["totalResults"]?.number?.int64, total >= 0, let total = Int(exactly: total) else {
                throw answer.unreadable("totalResults is missing")
            }
            let start = place.flatMap { Int($0) } ?? 1
            // The total is that of now: people come and go while they are listed.
            let (next, overflows) = start.addingReportingOverflow(users.count)
            let hasMore = !users.isEmpty && !overflows && next <= total
            return (users, total, hasMore ? String(next) : nil)
        })

    /// A group as the service names it with a person.
    private static func group(_ object: JSONObject) -> DirectoryObject {
        var record = WireRecord(object, ignoresCase: true)
        var group: JSONObject = ["@odata.type": "#microsoft.graph.group"]
        group.add("id", record.text("value"))
        group.add("displayName", record.text("display"))
        return DirectoryObject(json: group)
    }
}
