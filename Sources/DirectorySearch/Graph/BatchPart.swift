import Platform
public import HTTPExchange
public import StrictJSON

/// One question of a batch: what is read by GET below the service's address, and what becomes of the answer.
///
/// ```swift
/// let timeZone = BatchPart(get: ["users", id, "mailboxSettings"], options: ["$select": "timeZone"]) { answer in
///     try JSONValue(parsing: answer.body).object?["timeZone"]?.string
/// }
/// let (person, manager, zone) = try await directory.batch(.user(id), .manager(of: id), timeZone)
/// ```
///
/// A part that cannot be asked, such as the person of an empty name, fails alone and is not sent.
public struct BatchPart<Value: Sendable>: Sendable {
    /// What is asked, or why it cannot be.
    let question: Result<BatchItem, DirectoryError>
    let read: @Sendable (GraphConnection.Answer) throws(DirectoryError) -> Value

    init(
        _ question: () throws(DirectoryError) -> BatchItem,
        read: @escaping @Sendable (GraphConnection.Answer) throws(DirectoryError) -> Value
    ) {
        do throws(DirectoryError) {
            self.question = .success(try question())
        } catch {
            self.question = .failure(error)
        }
        self.read = read
    }

    /// A question of one's own.
    ///
    /// - Parameters:
    ///   - segments: the path below the service's address and version, not percent-encoded: `["users", id, "calendar"]`.
    ///   - options: the query, not percent-encoded: `["$select": "name,owner"]`.
    ///   - isAdvanced: whether the question carries `ConsistencyLevel: eventual`; what goes with it, such as `"$count": "true"`, is
    ///     said in the options.
    ///   - permissions: what has to be granted, for the words of an answer that it is not.
    ///   - read: reads an answer of status 200. Its ``DirectoryError`` is the part's; any other error makes the answer unreadable.
    public init(
        get segments: [String], options: KeyValuePairs<String, String> = [:], isAdvanced: Bool = false,
        permissions: [String] = [], read: @escaping @Sendable (HTTPResponse) throws -> Value
    ) {
        self.init {
            () throws(DirectoryError) in
            BatchItem(
                target: try Self.target(segments, options), isAdvanced: isAdvanced, permissions: permissions)
        } read: { answer throws(DirectoryError) in
            do {
                return try read(answer.response)
            } catch let error as DirectoryError {
                throw error
            } catch {
                throw answer.unreadable(String(describing: error).visible(limit: 200))
            }
        }
    }

    private static func target(
        _ segments: [String], _ options: KeyValuePairs<String, String>
    ) throws(DirectoryError) -> String {
        guard !segments.isEmpty else { throw DirectoryError(.invalidQuery("the path of a question is empty")) }
        for segment in segments where segment.isEmpty || segment == "." || segment == ".." {
            throw DirectoryError(.invalidQuery("\"\(segment)\" is no part of a path"))
        }
        let path = segments.map(ODataEscaping.pathSegment).joined(separator: "/")
        let query = options.map { ODataEscaping.pathSegment($0.key) + "=" + ODataEscaping.queryValue($0.value) }
        return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
    }

    /// What became of this part.
    ///
    /// - Parameter place: which of the questions that were sent it was; nil when it was not sent.
    func result(_ place: Int?, of batch: BatchResponse, _ connection: GraphConnection) -> Result<Value, DirectoryError>
    {
        do throws(DirectoryError) {
            let question = try question.get()
            return .success(
                try read(try connection.answer(place ?? -1, of: batch, permissions: question.permissions)))
        } catch {
            return .failure(error)
        }
    }
}

extension BatchPart where Value == JSONObject {
    /// A question of one's own whose answer is an object. The parameters are those of ``init(get:options:isAdvanced:permissions:read:)``.
    public init(
        get segments: [String], options: KeyValuePairs<String, String> = [:], isAdvanced: Bool = false,
        permissions: [String] = []
    ) {
        self.init {
            () throws(DirectoryError) in
            BatchItem(
                target: try Self.target(segments, options), isAdvanced: isAdvanced, permissions: permissions)
        } read: { answer throws(DirectoryError) in
            try answer.object()
        }
    }
}

extension BatchPart where Value == User {
    /// One person, by identifier or sign-in name. A mail address that is no sign-in name is not found: ``GraphDirectory/lookUp(_:select:)``
    /// looks for that too.
    ///
    /// - Parameter expand: a relation to be answered with the person.
    public static func user(
        _ identifierOrName: String, select: [String] = UserQuery.defaultProperties, expand: UserExpansion? = nil
    ) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            let selection = try Selection(select, expanding: expand)
            return BatchItem(
                target: "\(try UserPath(identifierOrName).text)?\(selection.options)",
                isAdvanced: selection.needsAdvancedQuery, permissions: UserQuery.permissions(toRead: select))
        } read: { answer throws(DirectoryError) in
            try answer.person()
        }
    }

    /// The signed-in person.
    public static func me(select: [String] = UserQuery.defaultProperties) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            BatchItem(target: "me?\(try Selection(select).options)", permissions: ["User.Read"])
        } read: { answer throws(DirectoryError) in
            try answer.person()
        }
    }

    /// The manager of a person, who is named by identifier or sign-in name. Nobody is a failure of the kind `notFound`.
    public static func manager(
        of identifierOrName: String, select: [String] = UserQuery.defaultProperties
    ) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            BatchItem(
                target: "\(try UserPath(identifierOrName).text)/manager?\(try Selection(select).selectOption)",
                permissions: ["User.Read.All"])
        } read: { answer throws(DirectoryError) in
            try answer.person()
        }
    }
}

extension BatchPart where Value == UserPage {
    /// The first page of a search. For more than that there is ``GraphDirectory/pages(matching:)``.
    public static func page(of query: UserQuery) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            let plan = try query.plan()
            return BatchItem(target: plan.target, isAdvanced: plan.isAdvanced, permissions: plan.permissions)
        } read: { answer throws(DirectoryError) in
            var page = try answer.page().page
            if let limit = query.limit, page.users.count > limit {
                page.users.removeLast(page.users.count - limit)
                page.hasMore = true
            }
            return page
        }
    }
}

extension BatchPart where Value == Int {
    /// How many people a search finds.
    public static func count(of query: UserQuery) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            let plan = try query.countPlan()
            return BatchItem(target: plan.target, isAdvanced: true, permissions: plan.permissions)
        } read: { answer throws(DirectoryError) in
            try answer.number()
        }
    }
}

extension BatchPart where Value == UserPhoto {
    /// The photo of a person, who is named by identifier or sign-in name. None is a failure of the kind `notFound`.
    public static func photo(of identifierOrName: String) -> BatchPart {
        BatchPart {
            () throws(DirectoryError) in
            BatchItem(
                target: "\(try UserPath(identifierOrName).text)/photo/$value",
                permissions: ["User.ReadBasic.All", "User.Read.All"])
        } read: { answer throws(DirectoryError) in
            guard !answer.response.body.isEmpty else { throw DirectoryError(.notFound, status: 200) }
            return UserPhoto(bytes: answer.response.body, mediaType: answer.response.fields["Content-Type"])
        }
    }
}
