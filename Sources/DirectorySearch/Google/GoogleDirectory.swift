import Platform
import StrictJSON

/// The people of a Google Workspace or Cloud Identity organization, by the Directory API of the Admin SDK.
///
/// Questions are asked in Graph's names and answered with Graph's names: a filter for `surname` compares `familyName`, and the answer's
/// `primaryEmail` is ``User/userPrincipalName``. What Google cannot say, such as "or", is refused with what would work instead.
///
/// The signed-in person must be an administrator, or have a role that may read users.
public struct GoogleDirectory: UserDirectory {
    /// The scope that reading people needs.
    public static let scope = "https://www.googleapis.com/auth/admin.directory.user.readonly"
    /// The scope that reading a person's groups needs.
    public static let groupScope = "https://www.googleapis.com/auth/admin.directory.group.readonly"
    /// The address of the API.
    public static let base = "https://admin.googleapis.com/admin/directory/v1"

    private let directory: CursorPagedDirectory

    /// The directory behind this connection: its base is ``base``.
    public init(connection: DirectoryConnection) {
        self.init { connection }
    }

    /// The directory behind a connection that is looked up when it is first needed, at the beginning of each operation. What it
    /// throws is given to the caller as it is.
    public init(connecting connect: @escaping @Sendable () async throws -> DirectoryConnection) {
        directory = CursorPagedDirectory(connect, speaking: .google, reading: Self.reading)
    }

    /// The people of a query, page by page. Nothing is sent before the first page is asked for.
    public func pages(matching query: UserQuery) -> UserPages { directory.pages(matching: query) }

    /// Nobody: Google's directory has no address for the signed-in person.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notSupported`. Nothing is sent.
    public func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        throw DirectoryError(
            .notSupported,
            message: "Google's directory has no address for the signed-in person; ask by the mail address instead")
    }

    /// One person, by identifier, by the primary mail address or by another one.
    ///
    /// - Throws: ``DirectoryError``, of the kind `notFound` when there is no such person, `emptySearch` for an empty text; what the
    ///   transport and the authorization throw; `CancellationError`.
    public func user(_ name: String, select: [String] = UserQuery.defaultProperties) async throws -> User {
        let connection = try await directory.connect()
        return try await Self.find(name, connection, connection.makeBudget())
    }

    /// One person, and who and what is around them. Photos are not asked for; groups need ``groupScope``.
    ///
    /// - Throws: as ``user(_:select:)``. What goes wrong with a part is told in the part.
    public func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let connection = try await directory.connect()
        let budget = connection.makeBudget()
        let user = try await Self.find(name, connection, budget)
        var detail = UserDetail(user: user)
        if parts.contains(.manager) {
            if let manager = user.manager?.mail {
                detail.manager = try await UserDetail.Part { try await Self.find(manager, connection, budget) }
            } else {
                detail.manager = .none
            }
        }
        if parts.contains(.reports), let mail = user.userPrincipalName {
            let query = UserQuery(.property("manager/mail", equals: mail), pageSize: 500)
            detail.reports = try await .reports(
                of: directory.pages(matching: query, connection, budget))
        }
        if parts.contains(.groups), let key = user.id ?? user.userPrincipalName {
            detail.groups = try await Self.groups(of: key, connection, budget)
        }
        return detail
    }

    /// Many people by identifier or mail address: one after the other, a few at a time, answers in the order of the names.
    public func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { [connect = directory.connect] in
            SequentialLookups(connect: connect, names: names.makeAsyncIterator()) { connection, name in
                try await Self.find(name, connection, connection.makeBudget())
            }
        }
    }

    // MARK: Requests

    private static func find(
        _ name: String, _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> User {
        try name.checkIsName()
        let answer = try await connection.answer(
            to: GraphConnection.Question(
                address: "\(connection.base)/users/\(ODataEscaping.pathSegment(name))", permissions: [scope]),
            budget: budget)
        let object = try answer.object()
        // A list or a failure with status 200 is no person.
        guard object["id"]?.string != nil || object["primaryEmail"]?.string != nil else {
            throw answer.unreadable("it is no user: id and primaryEmail are missing")
        }
        return User(google: object)
    }

    private static func groups(
        of key: String, _ connection: GraphConnection, _ budget: RetryBudget
    ) async throws -> UserDetail.Part<[DirectoryObject]> {
        var found: [DirectoryObject] = []
        var guardian = LoopGuard()
        var target: String? = "groups?userKey=\(ODataEscaping.queryValue(key))&maxResults=200"
        let first = target ?? ""
        do {
            while let current = target {
                try guardian.enter(current)
                let answer = try await connection.answer(
                    to: GraphConnection.Question(
                        address: "\(connection.base)/\(current)", permissions: [groupScope]), budget: budget)
                let (members, elements) = try answer.list("groups") { $0["kind"]?.string == "admin#directory#groups" }
                found += elements.map { Self.group($0.value.object ?? JSONObject()) }
                try guardian.leave(isEmpty: elements.isEmpty && members["nextPageToken"] != nil)
                target = try Self.next(members, answer).map { "\(first)&pageToken=\(ODataEscaping.queryValue($0))" }
            }
        } catch let error as DirectoryError {
            return UserDetail.Part(error)
        }
        return found.isEmpty ? .none : .value(found)
    }

    // MARK: Answers

    static let reading = CursorPages.Reading(
        request: { query, place throws(DirectoryError) in try query.googleRequest(at: place) },
        page: { answer, place throws(DirectoryError) in
            // Nobody is no list, not an empty one.
            let (members, elements) = try answer.list("users") { $0["kind"]?.string == "admin#directory#users" }
            return (
                elements.map { User(google: $0.value.object ?? JSONObject()) }, nil, try Self.next(members, answer)
            )
        })

    private static func next(
        _ members: JSONObject, _ answer: GraphConnection.Answer
    ) throws(DirectoryError) -> String? {
        switch members["nextPageToken"] {
        case nil, .null?, .string("")?: return nil
        case .string(let token)?: return token
        default: throw answer.unreadable("the next page's token is not a text")
        }
    }

    private static func group(_ object: JSONObject) -> DirectoryObject {
        var record = WireRecord(object, ignoresCase: false)
        var group: JSONObject = ["@odata.type": "#microsoft.graph.group"]
        group.add("id", record.text("id"))
        group.add("displayName", record.text("name"))
        group.add("mail", record.text("email"))
        group.add("description", record.text("description"))
        return DirectoryObject(json: group)
    }
}
