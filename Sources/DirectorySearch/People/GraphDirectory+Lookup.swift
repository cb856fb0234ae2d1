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
            let selection = try Selection(select)
            let connection = try await connect()
            batch = LookupBatch(
                connection: connection.sharing(connection.makeBudget()), select: select, selection: selection)
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
    let selection: Selection

    private var permissions: [String] { UserQuery.permissions(toRead: select) }

    /// - Throws: ``DirectoryError`` when a batch as a whole fails; what the transport and the authorization throw.
    func resolve(_ names: [String]) async throws -> [UserLookup] {
        var results = [Result<User, DirectoryError>?](repeating: nil, count: names.count)
        var asked: [(index: Int, path: UserPath)] = []
        for (index, name) in names.enumerated() {
            do throws(DirectoryError) {
                asked.append((index, try UserPath(name)))
            } catch {
                results[index] = .failure(error)
            }
        }
        let answers = try await ask(asked.map { .init(target: "\($0.path.text)?\(selection.options)") })
        var mails: [(index: Int, target: String, error: DirectoryError)] = []
        for ((index, path), answer) in zip(asked, answers) {
            let result = read(answer) { answer throws(DirectoryError) in User(json: try answer.object()) }
            results[index] = result
            guard case .failure(let error) = result, error.kind == .notFound,
                let plan = try? path.mailQuery(select: select)?.plan(), !plan.isAdvanced
            else { continue }
            mails.append((index, plan.target, error))
        }
        // Who is not known by this name may have it as a mail address.
        for ((index, _, error), answer) in zip(mails, try await ask(mails.map { .init(target: $0.target) })) {
            results[index] = read(answer) { answer throws(DirectoryError) in
                let found = try answer.list().elements
                guard found.count < 2 else { throw DirectoryError(.ambiguous) }
                guard let user = found.first else { throw error }
                return User(json: user)
            }
        }
        return zip(names, results).map { name, result in
            UserLookup(name: name, result: result ?? .failure(DirectoryError(.unreadable("there is no answer"))))
        }
    }

    private func ask(_ questions: [GraphConnection.BatchQuestion]) async throws -> [GraphConnection.Answer] {
        guard !questions.isEmpty else { return [] }
        let wait = connection.pace.take(questions.count, now: connection.now())
        if wait > .zero { try await connection.sleep(wait) }
        let batch = try await connection.batch(
            questions, permissions: permissions, budget: connection.makeBudget())
        return batch.responses.map { GraphConnection.Answer(response: $0, clientRequestID: batch.clientRequestID) }
    }

    private func read(
        _ answer: GraphConnection.Answer, _ body: (GraphConnection.Answer) throws(DirectoryError) -> User
    ) -> Result<User, DirectoryError> {
        guard answer.response.status == 200 else {
            return .failure(
                GraphFailure.error(
                    for: answer.response, clientRequestID: answer.clientRequestID, permissions: permissions,
                    now: connection.now()))
        }
        do throws(DirectoryError) {
            return .success(try body(answer))
        } catch {
            return .failure(error)
        }
    }
}
