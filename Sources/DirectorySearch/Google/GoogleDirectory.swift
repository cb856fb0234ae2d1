import LodgePlatform
import HTTPExchange
import StrictJSON

/// The users of a Google Workspace or Cloud Identity organization, from the Directory API of the Admin SDK.
///
/// Queries and results use Graph's names: a filter for `surname` compares `familyName`, and the `primaryEmail` in a response is
/// ``User/userPrincipalName``. A query that Google does not support, such as "or", throws an error with an alternative.
///
/// The signed-in user must be an administrator, or have a role that may read users.
package struct GoogleDirectory: UserDirectory {
    /// The scope for reading users.
    package static let scope = "https://www.googleapis.com/auth/admin.directory.user.readonly"
    /// The scope for reading a user's groups.
    package static let groupScope = "https://www.googleapis.com/auth/admin.directory.group.readonly"
    /// The URL of the API.
    package static let base = "https://admin.googleapis.com/admin/directory/v1"

    private let directory: CursorPagedDirectory

    /// Creates the directory of this client. The client's base is ``base``.
    package init(client: DirectoryClient) { self.init { client } }

    /// Creates a directory whose client is created at the start of each operation. Its errors are thrown unchanged.
    package init(makeClient: @escaping @Sendable () async throws -> DirectoryClient) {
        // Google returns all properties and ignores the selection.
        directory = CursorPagedDirectory(makeClient, speaking: .google, Self.cursorProtocol) {
            name, _, client, budget in
            try await Self.find(name, client, budget)
        }
    }

    /// Returns the users of a query, page by page. The first page sends the first request.
    package func pages(matching query: UserQuery) -> UserPages { directory.pages(of: query) }

    /// Returns the users of a planned query, page by page.
    package func pages(of plan: SearchPlan) -> UserPages { directory.pages(of: plan.query, plan.request) }

    /// Throws an error, because Google's directory has no URL for the signed-in user.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notSupported`. It sends no request.
    package func me(select: [String] = UserQuery.defaultProperties) async throws -> User {
        throw DirectoryError(
            .notSupported,
            message: "Google's directory has no address for the signed-in person; ask by the mail address instead")
    }

    /// Returns one user by identifier, or by the primary or another mail address.
    ///
    /// - Throws: ``DirectoryError`` of the kind `notFound` if there is no such user, `emptySearch` for an empty name;
    ///   the errors of the transport and the authorization; `CancellationError`.
    package func user(_ name: String, select: [String] = UserQuery.defaultProperties) async throws -> User {
        try await directory.user(name, select)
    }

    /// Returns one user and the related objects, without a photo. Groups need ``groupScope``.
    ///
    /// - Throws: The same errors as ``user(_:select:)``. The error of a part is in the part.
    package func detail(
        of name: String, select: [String] = UserQuery.defaultProperties,
        parts: Set<UserDetail.PartName> = Set(UserDetail.PartName.allCases)
    ) async throws -> UserDetail {
        let client = try await directory.makeClient()
        let budget = client.makeBudget()
        let user = try await Self.find(name, client, budget)
        let reports = user.userPrincipalName.map { UserQuery(.property("manager/mail", equals: $0), pageSize: 500) }
        var detail = try await directory.detail(
            of: user, parts, manager: user.manager?.mail, reports: reports, client, budget
        ) { try await Self.find($0, client, budget) }
        if parts.contains(.groups), let key = user.id ?? user.userPrincipalName {
            detail.groups = try await Self.groups(of: key, client, budget)
        }
        return detail
    }

    /// Looks up users by identifier or mail address, a few concurrently, in the order of the names.
    package func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        directory.lookUp(names, select)
    }

    // MARK: Requests

    private static func find(
        _ name: String, _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> User {
        try name.checkIsName()
        let response = try await client.response(
            to: DirectoryClient.Request(
                url: "\(client.base)/users/\(ODataEscaping.pathSegment(name))", permissions: [scope]),
            budget: budget)
        let object = try response.object()
        // A list or an error with status 200 is not a user.
        guard object["id"]?.string != nil || object["primaryEmail"]?.string != nil else {
            throw response.unreadable("it is not a user: id and primaryEmail are missing")
        }
        return User(google: object)
    }

    private static func groups(
        of key: String, _ client: DirectoryClient, _ budget: RetryBudget
    ) async throws -> UserDetail.Part<[DirectoryObject]> {
        var found: [DirectoryObject] = []
        var loopGuard = LoopGuard(maximumElements: LoopGuard.maximumRelations)
        var target: String? = "groups?userKey=\(ODataEscaping.queryValue(key))&maxResults=200"
        let first = target ?? ""
        do {
            while let current = target {
                try loopGuard.enter(current)
                let response = try await client.response(
                    to: DirectoryClient.Request(url: "\(client.base)/\(current)", permissions: [groupScope]),
                    budget: budget)
                let (members, elements) = try response.list("groups") { $0["kind"]?.string == "admin#directory#groups" }
                found += elements.map { Self.group($0.value.object ?? JSONObject()) }
                try loopGuard.leave(newElements: elements.count, hasNext: members["nextPageToken"] != nil)
                target = try Self.next(members, response).map { "\(first)&pageToken=\(ODataEscaping.queryValue($0))" }
            }
        } catch let error as DirectoryError {
            return UserDetail.Part(error)
        }
        return UserDetail.Part(found)
    }

    // MARK: Responses

    private static let cursorProtocol = CursorProtocol(
        plan: { query throws(DirectoryError) in try query.googleRequest() }, option: "pageToken",
        page: { response, _ throws(DirectoryError) in
            // A response without users has no list instead of an empty one.
            let (members, elements) = try response.list("users") { $0["kind"]?.string == "admin#directory#users" }
            let users = elements.map { User(google: $0.value.object ?? JSONObject()) }
            return (users, nil, try Self.next(members, response))
        })

    private static func next(
        _ members: JSONObject, _ response: DirectoryClient.Response
    ) throws(DirectoryError) -> String? {
        switch members["nextPageToken"] {
        case nil, .null?, .string("")?: return nil
        case .string(let token)?: return token
        default: throw response.unreadable("the token of the next page is not a string")
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
