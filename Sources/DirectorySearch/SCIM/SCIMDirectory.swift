import HTTPExchange
import StrictJSON

/// The users of a directory with SCIM 2.0.
///
/// Queries and results use Graph's names: a filter for `surname` compares `name.familyName`, and the `title` in a response is
/// ``User/jobTitle``. A query that SCIM does not support throws an error with an alternative.
///
/// See RFC 7643 and RFC 7644.
package struct SCIMDirectory: UserDirectory {
    static let mediaType = "application/scim+json"

    private let directory: CursorPagedDirectory

    /// Creates the directory of this client. The client's base is the parent URL of `Users`.
    package init(client: DirectoryClient) { self.init { client } }

    /// Creates a directory whose client is created at the start of each operation. Its errors are thrown unchanged.
    package init(makeClient: @escaping @Sendable () async throws -> DirectoryClient) {
        directory = CursorPagedDirectory(makeClient, speaking: .scim, Self.cursorProtocol, find: Self.find)
    }

    /// Returns the users of a query, page by page. The first page sends the first request.
    package func pages(matching query: UserQuery) -> UserPages { directory.pages(of: query) }

    /// Returns the users of a planned query, page by page.
    package func pages(of plan: SearchPlan) -> UserPages { directory.pages(of: plan.query, plan.request) }

    /// Returns the signed-in user, if the service supports `/Me` (RFC 7644 section 3.11).
    ///
    /// - Throws: ``DirectoryError`` of the kind `notSupported` if it does not; the errors of the transport and the authorization;
    ///   `CancellationError`.
    package func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        let selection = try Self.selection(select)
        let client = try await directory.makeClient()
        try client.checkHasUser()
        do {
            return try await Self.user(at: "Me?\(selection)", client, client.makeBudget())
        } catch var error as DirectoryError where error.isMissingResource {
            error.kind = .notSupported
            throw error
        }
    }

    /// Returns one user by identifier, by sign-in name or by mail address, in this order.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` if there is no such user, `emptySearch` for an empty name,
    ///   `ambiguous` if several users have the name or the mail address; the errors of the transport and the
    ///   authorization; `CancellationError`.
    package func user(_ name: String, select: [String] = UserQuery.defaultProperties) async throws -> User {
        try await directory.user(name, select)
    }

    /// Returns one user and the related objects.
    ///
    /// Manager and groups are from the user's own resource, reports from a search.
    ///
    /// SCIM has no photos.
    ///
    /// - Throws: The same errors as ``user(_:select:)``. The error of a part is in the part.
    package func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let client = try await directory.makeClient()
        let budget = client.makeBudget()
        let related = (parts.contains(.manager) ? ["manager"] : []) + (parts.contains(.groups) ? ["groups"] : [])
        let user = try await Self.find(name, select + related, client, budget)
        let reports = user.id.map {
            UserQuery(.property("manager/id", equals: $0), select: ["id", "displayName", "mail"], pageSize: 200)
        }
        var detail = try await directory.detail(
            of: user, parts, manager: user.manager?.id, reports: reports, client, budget
        ) { try await Self.user($0, UserQuery.defaultProperties, client, budget) }
        if parts.contains(.groups) {
            detail.groups = UserDetail.Part((user["groups"]?.array ?? []).compactMap(\.object).map(Self.group))
        }
        return detail
    }

    /// Looks up users by identifier, sign-in name or mail address, a few concurrently, in the order of the names.
    package func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        directory.lookUp(names, select) { select throws(DirectoryError) in _ = try SCIMAttribute.selection(select) }
    }

    // MARK: Requests

    private static func selection(_ select: [String]) throws(DirectoryError) -> String {
        "attributes=" + ODataEscaping.queryValue(try SCIMAttribute.selection(select))
    }

    private static func find(
        _ name: String, _ select: [String], _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> User {
        try name.checkIsName()
        var absence = DirectoryError(.notFound)
        // An identifier of the service is rarely a mail address: this saves a request.
        if !name.contains("@") {
            do {
                return try await user(name, select, client, budget)
            } catch let error as DirectoryError where error.kind == .notFound || error.kind == .badRequest {
                // Some services reject a string that does not have the form of their identifiers.
                if error.kind == .notFound { absence = error }
            }
        }
        for property in [UserProperty.userPrincipalName, .mail] where property != .mail || name.contains("@") {
            let query = UserQuery(.property(property, equals: name), select: select, limit: 2)
            let pages = CursorPages(makeClient: { client }, query: query, cursorProtocol, budget: budget)
            let users = try await pages.users(upTo: 2)
            guard users.allSatisfy({ $0.mayHave(property, name) }) else {
                throw DirectoryError(
                    .notSupported, message: "it ignores the filter of a request, and returns other users")
            }
            guard users.count < 2 else { throw DirectoryError(.ambiguous) }
            if let user = users.first { return user }
        }
        throw absence
    }

    private static func user(
        _ identifier: String, _ select: [String], _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> User {
        try await user(
            at: "Users/\(ODataEscaping.pathSegment(identifier))?\(try selection(select))", client, budget)
    }

    private static func user(
        at target: String, _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> User {
        let response = try await client.response(
            to: DirectoryClient.Request(url: "\(client.base)/\(target)", accept: mediaType, permissions: []),
            budget: budget)
        let object = try response.object()
        // A list or an error with status 200 is not a user.
        guard object["id"]?.string != nil else { throw response.unreadable("it is not a user: the id is missing") }
        return User(scim: object)
    }

    // MARK: Responses

    private static let cursorProtocol = CursorProtocol(
        plan: { query throws(DirectoryError) in try query.scimRequest() }, option: "startIndex",
        page: { response, cursor throws(DirectoryError) in
            let (members, elements) = try response.list("Resources") { $0["totalResults"]?.number?.int64 == 0 }
            let users = elements.map { User(scim: $0.value.object ?? JSONObject()) }
            guard let total = members["totalResults"]?.number?.int64, total >= 0, let total = Int(exactly: total) else {
                throw response.unreadable("totalResults is missing")
            }
            let start = cursor.flatMap { Int($0) } ?? 1
            // The total is current: users are added and removed during the listing.
            let (next, overflows) = start.addingReportingOverflow(users.count)
            let hasMore = !users.isEmpty && !overflows && next <= total
            return (users, total, hasMore ? String(next) : nil)
        })

    /// Returns a group as the service describes it with a user.
    private static func group(_ object: JSONObject) -> DirectoryObject {
        var record = WireRecord(object, ignoresCase: true)
        var group: JSONObject = ["@odata.type": "#microsoft.graph.group"]
        group.add("id", record.text("value"))
        group.add("displayName", record.text("display"))
        return DirectoryObject(json: group)
    }
}

extension User {
    /// Returns whether a user may match, because services without filters return other users.
    ///
    /// A user without the property may match.
    fileprivate func mayHave(_ property: UserProperty, _ text: String) -> Bool {
        let values =
            property == .mail
            ? [mail].compactMap { $0 } + otherMails : [userPrincipalName].compactMap { $0 }
        return values.isEmpty || values.contains { $0.lowercased() == text.lowercased() }
    }
}
