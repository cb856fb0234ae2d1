import HTTPExchange

extension GraphDirectory {
    /// Sends many requests, 20 in a batch, and returns the result of each in their order.
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
    /// Rejected requests (429, 503, 504) are retried without the others, within one time budget for the whole call.
    /// Each batch refreshes a rejected token once, with the claims that the service requires. If that needs a sign-in,
    /// the part fails with ``DirectoryError/Kind/signInNeeded(claims:)``. All responses are in memory; for any number
    /// of users use ``lookUp(_:select:)``.
    ///
    /// - Throws: ``DirectoryError`` if a batch as a whole fails; the errors of the transport and the authorization;
    ///   `CancellationError`. The error of a part is its result.
    package func batch<Value>(_ parts: [BatchPart<Value>]) async throws -> [Result<Value, DirectoryError>] {
        guard !parts.isEmpty else { return [] }
        let client = try await makeClient()
        return try await client.batch(parts, budget: client.makeBudget())
    }

    /// Sends a few requests of different types in one batch, and returns the result of each.
    ///
    /// ```swift
    /// let (person, manager, colleagues) = try await directory.batch(
    ///     .user("ada@contoso.com"), .manager(of: "ada@contoso.com"), .count(of: UserQuery(.department(startsWith: "Sales"))))
    /// print(try person.get().displayName ?? "", try colleagues.get())
    /// ```
    ///
    /// - Throws: The same errors as ``batch(_:)-([BatchPart<Value>])``.
    package func batch<First, Second, each Value>(
        _ first: BatchPart<First>, _ second: BatchPart<Second>, _ part: repeat BatchPart<each Value>
    ) async throws -> (
        Result<First, DirectoryError>, Result<Second, DirectoryError>, repeat Result<each Value, DirectoryError>
    ) {
        let client = try await makeClient()
        var sent = SentParts()
        sent.add(first)
        sent.add(second)
        for part in repeat each part { sent.add(part) }
        let response = try await client.batch(sent.items, budget: client.makeBudget())
        return (
            sent.take(first, response, client), sent.take(second, response, client),
            repeat sent.take(each part, response, client)
        )
    }
}

/// The parts of a batch with the indexes of their requests. Invalid parts have no index.
private struct SentParts {
    private(set) var items: [BatchItem] = []
    private var indices: [Int?] = []
    private var nextIndex = 0

    mutating func add<Value>(_ part: BatchPart<Value>) {
        guard case .success(let item) = part.item else {
            indices.append(nil)
            return
        }
        indices.append(items.count)
        items.append(item)
    }

    /// Returns the result of the next part, in the order in which the parts were added.
    mutating func take<Value>(
        _ part: BatchPart<Value>, _ response: BatchResponse, _ client: DirectoryClient
    ) -> Result<Value, DirectoryError> {
        defer { nextIndex += 1 }
        return part.result(at: indices[nextIndex], of: response, client)
    }
}

extension DirectoryClient {
    /// Sends the valid parts and returns the result of each.
    func batch<Value>(
        _ parts: [BatchPart<Value>], budget: RetryBudget
    ) async throws -> [Result<Value, DirectoryError>] {
        var sent = SentParts()
        for part in parts { sent.add(part) }
        let response = try await batch(sent.items, budget: budget)
        return parts.map { sent.take($0, response, self) }
    }
}
