import HTTPExchange

extension GraphDirectory {
    /// Sends many requests in batches of at most 20, and returns their results in the same order.
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
    /// The call sends a request again after status 429, 503 or 504, without the other requests. All retries of the call
    /// share one time budget.
    ///
    /// If the service rejects the token, the call refreshes it with the claims that the service requires, at most once
    /// for each batch. If the refresh needs a sign-in, the rejected parts fail with
    /// ``DirectoryError/Kind/signInNeeded(claims:)``.
    ///
    /// The call stores all responses in memory. For any number of users, use ``lookUp(_:select:)``.
    ///
    /// - Throws: ``DirectoryError`` if a batch as a whole fails; the errors of the transport and the authorization;
    ///   `CancellationError`. If only one part fails, the call does not throw: the error is the result of that part.
    package func batch<Value>(_ parts: [BatchPart<Value>]) async throws -> [Result<Value, DirectoryError>] {
        guard !parts.isEmpty else { return [] }
        let client = try await makeClient()
        return try await client.batch(parts, budget: client.makeBudget())
    }

    /// Sends a few requests of different types in one batch, and returns the result of each.
    ///
    /// ```swift
    /// let (user, manager, salesCount) = try await directory.batch(
    ///     .user("ada@contoso.com"), .manager(of: "ada@contoso.com"),
    ///     .count(of: UserQuery(.department(startsWith: "Sales"))))
    /// print(try user.get().displayName ?? "", try salesCount.get())
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

/// The requests of the valid parts, and for each part the index of its request: `nil` for an invalid part.
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
    /// Sends the valid parts and returns a result for each part, in their order.
    func batch<Value>(
        _ parts: [BatchPart<Value>], budget: RetryBudget
    ) async throws -> [Result<Value, DirectoryError>] {
        var sent = SentParts()
        for part in parts { sent.add(part) }
        let response = try await batch(sent.items, budget: budget)
        return parts.map { sent.take($0, response, self) }
    }
}
