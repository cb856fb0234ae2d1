extension GraphDirectory {
    /// Asks many questions, 20 in a request, and gives what became of each, in the order of the questions.
    ///
    /// ```swift
    /// let ids = ["87d349ed-44d7-43e1-9a83-5f2406dee5bd", "5bde3e51-d13b-4db1-9948-fe4b109d11a7"]
    /// let managers = try await directory.batch(ids.map { .manager(of: $0, select: ["displayName"]) })
    /// for (id, manager) in zip(ids, managers) {
    ///     switch manager {
    ///     case .success(let manager): print(id, manager.displayName ?? "")
    ///     case .failure(let error) where error.kind == .notFound: print(id, "has no manager")
    ///     case .failure(let error): print(id, error)
    ///     }
    /// }
    /// ```
    ///
    /// Questions that the service turns away (429, 503, 504) are asked again without the others, within one budget of waiting for the
    /// whole call. A token that a question is refused for is renewed once a request, with the claims that are demanded; where only a
    /// sign-in can give such a token the part fails as ``DirectoryError/Kind/signInNeeded(claims:)``. All answers are held
    /// in memory; for people without number there is ``lookUp(_:select:)``.
    ///
    /// - Throws: ``DirectoryError`` when a request as a whole fails; what the transport and the authorization throw;
    ///   `CancellationError`. What goes wrong with a part is told in its place.
    public func batch<Value>(_ parts: [BatchPart<Value>]) async throws -> [Result<Value, DirectoryError>] {
        guard !parts.isEmpty else { return [] }
        let connection = try await connect()
        return try await connection.batch(parts, budget: connection.makeBudget())
    }

    /// Asks a few questions of different kinds at once, and gives what became of each.
    ///
    /// ```swift
    /// let (person, manager, colleagues) = try await directory.batch(
    ///     .user("ada@contoso.com"), .manager(of: "ada@contoso.com"), .count(of: UserQuery(.department(startsWith: "Sales"))))
    /// print(try person.get().displayName ?? "", try colleagues.get())
    /// ```
    ///
    /// - Throws: as ``batch(_:)-([BatchPart<Value>])`` does.
    public func batch<First, Second, each Value>(
        _ first: BatchPart<First>, _ second: BatchPart<Second>, _ part: repeat BatchPart<each Value>
    ) async throws -> (
        Result<First, DirectoryError>, Result<Second, DirectoryError>, repeat Result<each Value, DirectoryError>
    ) {
        let connection = try await connect()
        var sent = SentParts()
        sent.add(first)
        sent.add(second)
        for part in repeat each part { sent.add(part) }
        let answer = try await connection.batch(sent.questions, budget: connection.makeBudget())
        sent.rewind()
        return (
            sent.take(first, answer, connection), sent.take(second, answer, connection),
            repeat sent.take(each part, answer, connection)
        )
    }
}

/// Which question of a batch each part became. Those that cannot be asked became none.
private struct SentParts {
    private(set) var questions: [BatchItem] = []
    private var places: [Int?] = []
    private var position = 0

    mutating func add<Value>(_ part: BatchPart<Value>) {
        guard case .success(let question) = part.question else {
            places.append(nil)
            return
        }
        places.append(questions.count)
        questions.append(question)
    }

    mutating func rewind() { position = 0 }

    mutating func take<Value>(
        _ part: BatchPart<Value>, _ answer: BatchResponse, _ connection: GraphConnection
    ) -> Result<Value, DirectoryError> {
        defer { position += 1 }
        return part.result(places[position], of: answer, connection)
    }
}

extension GraphConnection {
    /// Asks the parts that can be asked, and gives what became of each.
    func batch<Value>(
        _ parts: [BatchPart<Value>], budget: RetryBudget
    ) async throws -> [Result<Value, DirectoryError>] {
        var sent = SentParts()
        for part in parts { sent.add(part) }
        let answer = try await batch(sent.questions, budget: budget)
        return parts.map { sent.take($0, answer, self) }
    }
}
