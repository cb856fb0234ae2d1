extension GraphDirectory {
    /// Looks up users by identifier, sign-in name or mail address, in the order of the names.
    ///
    /// Sends 20 in a batch and a few batches concurrently, within the service's quota.
    public func lookUp<Names: AsyncSequence & Sendable>(
        _ names: Names, select: [String] = UserQuery.defaultProperties
    ) -> UserLookups where Names.Element == String, Names.AsyncIterator: Sendable {
        UserLookups { [makeClient] in
            SequentialLookups(
                makeClient: {
                    // Throw an error of the whole query before any request.
                    _ = try Selection(select)
                    return try await makeClient()
                }, names: names.makeAsyncIterator(), chunkSize: BatchRequest.maximumItems
            ) { client, names in
                try await client.lookUp(names, select: select)
            }
        }
    }
}

extension DirectoryClient {
    /// Looks up at most 20 users in Graph.
    ///
    /// - Throws: ``DirectoryError`` if a batch as a whole fails or the sign-in is no longer valid; the errors of the transport and
    ///   the authorization.
    fileprivate func lookUp(_ names: [String], select: [String]) async throws -> [UserLookup] {
        let budget = makeBudget()
        var results = try await batch(names.map { .user($0, select: select) }, budget: budget)
        // An unknown name may be a mail address.
        var mails: [(index: Int, part: BatchPart<UserPage>)] = []
        for (index, result) in results.enumerated() {
            guard case .failure(let error) = result else { continue }
            // This applies to every name.
            if error.isForAccount { throw error }
            guard error.kind == .notFound, let query = try UserPath(names[index]).mailQuery(select: select) else {
                continue
            }
            mails.append((index, .page(of: query)))
        }
        for ((index, _), page) in zip(mails, try await batch(mails.map(\.part), budget: budget)) {
            switch page {
            case .failure(let error): results[index] = .failure(error)
            case .success(let page) where page.users.count > 1: results[index] = .failure(DirectoryError(.ambiguous))
            // Keep the error of the first request if no user has the mail address either.
            case .success(let page): results[index] = page.users.first.map { .success($0) } ?? results[index]
            }
        }
        return zip(names, results).map { UserLookup(name: $0, result: $1) }
    }
}
