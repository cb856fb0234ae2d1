extension GraphDirectory {
    /// Many people by identifier, sign-in name or mail address: 20 in a request, a few requests at a time, no faster than the
    /// service's quota, answers in the order of the names.
    public func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { [connect] in
            GraphLookups(connect: connect, names: names.makeAsyncIterator(), select: select)
        }
    }
}

/// The answers of a lookup in Microsoft Graph.
private struct GraphLookups<Names: AsyncIteratorProtocol & Sendable>: UserLookupSource where Names.Element == String {
    /// How many batches are under way at a time. The service itself works on few requests of a batch at once.
    private static var maximumBatches: Int { 4 }

    private let connect: @Sendable () async throws -> GraphConnection
    private let select: [String]
    private var names: Names
    private var batch: LookupBatch?
    private var hasEnded = false
    /// The batches under way, in the order of their names.
    private var pending: [Fetch<[UserLookup]>] = []

    init(connect: @escaping @Sendable () async throws -> GraphConnection, names: Names, select: [String]) {
        self.connect = connect
        self.names = names
        self.select = select
    }

    mutating func next() async throws -> [UserLookup]? {
        let batch: LookupBatch
        if let known = self.batch {
            batch = known
        } else {
            // What is wrong with the question as a whole is told before anything is sent.
            _ = try Selection(select)
            let connection = try await connect()
            batch = LookupBatch(connection: connection.sharing(connection.makeBudget()), select: select)
            self.batch = batch
        }
        while !hasEnded, pending.count < Self.maximumBatches {
            var chunk: [String] = []
            while chunk.count < BatchRequest.maximumItems {
                guard let name = try await names.next() else {
                    hasEnded = true
                    break
                }
                chunk.append(name)
            }
            guard !chunk.isEmpty else { break }
            pending.append(Fetch { [chunk] in try await batch.resolve(chunk) })
        }
        guard !pending.isEmpty else { return nil }
        return try await pending.removeFirst().value()
    }
}

/// Looks up to 20 names up.
private struct LookupBatch: Sendable {
    let connection: GraphConnection
    let select: [String]

    /// - Throws: ``DirectoryError`` when a batch as a whole fails, or the sign-in no longer holds; what the transport and the
    ///   authorization throw.
    func resolve(_ names: [String]) async throws -> [UserLookup] {
        let budget = connection.makeBudget()
        var results = try await connection.batch(names.map { .user($0, select: select) }, budget: budget)
        // Who is not known by this name may have it as a mail address.
        var mails: [(index: Int, part: BatchPart<UserPage>)] = []
        for (index, result) in results.enumerated() {
            guard case .failure(let error) = result else { continue }
            // This concerns every name.
            if case .signInNeeded = error.kind { throw error }
            guard error.kind == .notFound, let query = try UserPath(names[index]).mailQuery(select: select) else {
                continue
            }
            mails.append((index, .page(of: query)))
        }
        for ((index, _), page) in zip(mails, try await connection.batch(mails.map(\.part), budget: budget)) {
            switch page {
            case .failure(let error): results[index] = .failure(error)
            case .success(let page) where page.users.count > 1: results[index] = .failure(DirectoryError(.ambiguous))
            // The error of the first question stands where nobody has the mail address either.
            case .success(let page): results[index] = page.users.first.map { .success($0) } ?? results[index]
            }
        }
        return zip(names, results).map { UserLookup(name: $0, result: $1) }
    }
}
