import LodgePlatform
import HTTPExchange
import StrictJSON

/// A request of a batch, sent by GET below the service's URL, and the reader of its response.
///
/// ```swift
/// let timeZone = BatchPart(get: ["users", id, "mailboxSettings"], options: ["$select": "timeZone"]) { response in
///     try JSONValue(parsing: response.body)[path: "timeZone"]?.string
/// }
/// let (person, manager, zone) = try await directory.batch(.user(id), .manager(of: id), timeZone)
/// ```
///
/// If a part is invalid, such as the user of an empty name, only that part fails.
package struct BatchPart<Value: Sendable>: Sendable {
    /// The request, or the reason why it is invalid.
    let item: Result<BatchItem, DirectoryError>
    let read: @Sendable (DirectoryClient.Response) throws(DirectoryError) -> Value

    init(
        _ item: @autoclosure () throws(DirectoryError) -> BatchItem,
        read: @escaping @Sendable (DirectoryClient.Response) throws(DirectoryError) -> Value
    ) {
        self.item = Result { () throws(DirectoryError) in try item() }
        self.read = read
    }

    /// Creates a custom request.
    ///
    /// - Parameters:
    ///   - segments: The path below the service's URL and version, not percent-encoded: `["users", id, "calendar"]`.
    ///   - options: The query, not percent-encoded: `["$select": "name,owner"]`.
    ///   - isAdvanced: Whether the request has `ConsistencyLevel: eventual`. The options must then contain the required
    ///     ones, such as `"$count": "true"`.
    ///   - permissions: The permissions that the request needs, for the error if they are missing.
    ///   - read: Reads a response of status 200. The part fails with its ``DirectoryError``; any other error means an
    ///     unreadable response.
    package init(
        get segments: [String], options: KeyValuePairs<String, String> = [:], isAdvanced: Bool = false,
        permissions: [String] = [], read: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        self.init(
            BatchItem(target: try Self.target(segments, options), isAdvanced: isAdvanced, permissions: permissions)
        ) { response throws(DirectoryError) in
            do {
                return try read(response.http)
            } catch let error as DirectoryError {
                throw error
            } catch {
                throw response.unreadable(String(describing: error).visible(limit: 200))
            }
        }
    }

    private static func target(
        _ segments: [String], _ options: KeyValuePairs<String, String>
    ) throws(DirectoryError) -> String {
        guard !segments.isEmpty else { throw .invalidQuery("the path of a request is empty") }
        for segment in segments where segment.isEmpty || segment == "." || segment == ".." {
            throw .invalidQuery("\"\(segment)\" is not a path segment")
        }
        let path = segments.map(ODataEscaping.pathSegment).joined(separator: "/")
        let query = options.map { ODataEscaping.pathSegment($0.key) + "=" + ODataEscaping.queryValue($0.value) }
        return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
    }

    /// Returns the result of this part.
    ///
    /// - Parameter index: The index of its request in the batch, or `nil` if it was not sent.
    func result(at index: Int?, of batch: BatchResponse, _ client: DirectoryClient) -> Result<Value, DirectoryError> {
        Result { () throws(DirectoryError) in
            let permissions = try item.get().permissions
            return try read(try client.response(index ?? -1, of: batch, permissions: permissions))
        }
    }
}

extension BatchPart where Value == JSONObject {
    /// Creates a custom request whose response is an object.
    ///
    /// See ``init(get:options:isAdvanced:permissions:read:)`` for the parameters.
    package init(
        get segments: [String], options: KeyValuePairs<String, String> = [:], isAdvanced: Bool = false,
        permissions: [String] = []
    ) {
        self.init(
            BatchItem(target: try Self.target(segments, options), isAdvanced: isAdvanced, permissions: permissions)
        ) { response throws(DirectoryError) in
            try response.object()
        }
    }
}

extension BatchPart where Value == User {
    private init(user item: @autoclosure () throws(DirectoryError) -> BatchItem) {
        self.init(try item()) { response throws(DirectoryError) in try response.user() }
    }

    /// Returns the request for one user, by identifier or sign-in name.
    ///
    /// It does not find a user by another mail address: use ``GraphDirectory/lookUp(_:select:)``.
    ///
    /// - Parameter expand: A relation to load with the user.
    package static func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties, expand: UserExpansion? = nil
    ) -> BatchPart {
        BatchPart(user: try item(identifierOrName, select, expand))
    }

    /// Returns the request for the signed-in user.
    package static func me(select: [String] = UserQuery.defaultProperties) -> BatchPart {
        BatchPart(user: BatchItem(target: "me?\(try Selection(select).options)", permissions: ["User.Read"]))
    }

    /// Returns the request for a user's manager, by the user's identifier or sign-in name.
    ///
    /// Fails with the kind `notFound` if the user has no manager.
    package static func manager(
        of identifierOrName: String, select: [String] = UserQuery.defaultProperties
    ) -> BatchPart {
        BatchPart(
            user: BatchItem(
                target: "\(try UserPath(identifierOrName).text)/manager?\(try Selection(select).selectOption)",
                permissions: ["User.Read.All"]))
    }

    private static func item(
        _ name: String, _ select: [String], _ expand: UserExpansion?
    ) throws(DirectoryError) -> BatchItem {
        let selection = try Selection(select, expanding: expand)
        return BatchItem(
            target: "\(try UserPath(name).text)?\(selection.options)", isAdvanced: selection.needsAdvancedQuery,
            permissions: UserQuery.permissions(toRead: select))
    }
}

extension BatchPart where Value == UserPage {
    /// Returns the request for a search's first page. ``GraphDirectory/pages(matching:)`` loads all pages.
    package static func page(of query: UserQuery) -> BatchPart {
        BatchPart(BatchItem(try query.plan())) { response throws(DirectoryError) in
            var page = try response.page().page
            if let limit = query.limit, page.users.count > limit {
                page.users.removeLast(page.users.count - limit)
                page.hasMore = true
            }
            return page
        }
    }
}

extension BatchPart where Value == Int {
    /// Returns the request for the number of matching users.
    package static func count(of query: UserQuery) -> BatchPart {
        BatchPart(BatchItem(try query.countPlan())) { response throws(DirectoryError) in try response.number() }
    }
}

extension BatchPart where Value == UserPhoto {
    /// Returns the request for a user's photo, by identifier or sign-in name.
    ///
    /// Fails with the kind `notFound` if the user has no photo.
    package static func photo(of identifierOrName: String) -> BatchPart {
        BatchPart(
            BatchItem(
                target: "\(try UserPath(identifierOrName).text)/photo/$value",
                permissions: ["User.ReadBasic.All", "User.Read.All"])
        ) { response throws(DirectoryError) in
            guard let photo = response.photo() else { throw DirectoryError(.notFound, status: 200) }
            return photo
        }
    }
}
