/// The results of a lookup in the order of the names, with several names per request and a few concurrent requests.
struct SequentialLookups<Names: AsyncIteratorProtocol & Sendable>: UserLookupSource where Names.Element == String {
    /// The maximum number of concurrent requests. Graph itself processes only a few requests of a batch concurrently.
    private static var maximumPending: Int { 4 }

    private let makeClient: @Sendable () async throws -> DirectoryClient
    private let chunkSize: Int
    private let resolve: @Sendable (DirectoryClient, [String]) async throws -> [UserLookup]
    private var client: DirectoryClient?
    private var names: Names
    private var hasEnded = false
    /// The requests in progress, in the order of their names.
    private var pending: [Fetch<[UserLookup]>] = []

    /// Creates the lookups.
    ///
    /// - Parameters:
    ///   - chunkSize: The number of names for each call of `resolve`.
    ///   - resolve: Returns the results for some names in their order. Its error ends the lookup.
    init(
        makeClient: @escaping @Sendable () async throws -> DirectoryClient, names: Names, chunkSize: Int,
        resolve: @escaping @Sendable (DirectoryClient, [String]) async throws -> [UserLookup]
    ) {
        self.makeClient = makeClient
        self.names = names
        self.chunkSize = chunkSize
        self.resolve = resolve
    }

    /// Creates lookups of one name at a time, in a directory without batches.
    init(
        makeClient: @escaping @Sendable () async throws -> DirectoryClient, names: Names,
        find: @escaping @Sendable (DirectoryClient, String) async throws -> User
    ) {
        self.init(makeClient: makeClient, names: names, chunkSize: 1) { client, names in
            try await client.waitForRateLimit(1)
            var lookups: [UserLookup] = []
            for name in names {
                do {
                    lookups.append(UserLookup(name: name, result: .success(try await find(client, name))))
                } catch let error as DirectoryError where Self.concernsOneName(error.kind) {
                    lookups.append(UserLookup(name: name, result: .failure(error)))
                }
            }
            return lookups
        }
    }

    mutating func next() async throws -> [UserLookup]? {
        let client: DirectoryClient
        if let known = self.client {
            client = known
        } else {
            let made = try await makeClient()
            // All delays between two results share one time budget.
            client = made.sharing(made.makeBudget())
            self.client = client
        }
        while !hasEnded, pending.count < Self.maximumPending {
            var chunk: [String] = []
            while chunk.count < chunkSize {
                guard let name = try await names.next() else {
                    hasEnded = true
                    break
                }
                chunk.append(name)
            }
            guard !chunk.isEmpty else { break }
            pending.append(Fetch { [chunk, resolve] in try await resolve(client, chunk) })
        }
        guard !pending.isEmpty else { return nil }
        let lookups = try await pending.removeFirst().value()
        // A long lookup may wait often, but not long without a result.
        if !lookups.contains(where: \.isDelayed) { client.budget?.reset() }
        return lookups
    }

    /// Returns whether an error applies only to this name. Any other error ends the lookup.
    private static func concernsOneName(_ kind: DirectoryError.Kind) -> Bool {
        switch kind {
        case .emptySearch, .invalidQuery, .notFound, .ambiguous, .badRequest, .notPermitted: true
        default: false
        }
    }
}

extension UserLookup {
    /// Whether the service was too busy for a result.
    fileprivate var isDelayed: Bool {
        guard case .failure(let error) = result else { return false }
        return error.kind == .throttled || error.kind == .unavailable
    }
}
