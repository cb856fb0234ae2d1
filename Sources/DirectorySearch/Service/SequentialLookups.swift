/// The answers of a lookup in a directory without batches: one question a name, a few at a time, in the order of the names.
struct SequentialLookups<Names: AsyncIteratorProtocol & Sendable>: UserLookupSource where Names.Element == String {
    /// How many names are asked for at a time.
    private static var maximumUnderWay: Int { 4 }

    private let connect: @Sendable () async throws -> GraphConnection
    private let find: @Sendable (GraphConnection, String) async throws -> User
    private var connection: GraphConnection?
    private var names: Names
    private var hasEnded = false
    /// The questions under way, in the order of their names.
    private var pending: [Fetch<UserLookup>] = []

    init(
        connect: @escaping @Sendable () async throws -> GraphConnection, names: Names,
        find: @escaping @Sendable (GraphConnection, String) async throws -> User
    ) {
        self.connect = connect
        self.names = names
        self.find = find
    }

    mutating func next() async throws -> [UserLookup]? {
        let connection: GraphConnection
        if let known = self.connection {
            connection = known
        } else {
            let made = try await connect()
            // All waits of the lookup come from one budget.
            connection = made.sharing(made.makeBudget())
            self.connection = connection
        }
        while !hasEnded, pending.count < Self.maximumUnderWay {
            guard let name = try await names.next() else {
                hasEnded = true
                break
            }
            let find = find
            pending.append(
                Fetch {
                    let wait = connection.pace.take(1, now: connection.now())
                    if wait > .zero { try await connection.sleep(wait) }
                    do {
                        return UserLookup(name: name, result: .success(try await find(connection, name)))
                    } catch let error as DirectoryError where Self.concernsOne(error.kind) {
                        return UserLookup(name: name, result: .failure(error))
                    }
                })
        }
        guard !pending.isEmpty else { return nil }
        return [try await pending.removeFirst().value()]
    }

    /// Whether a failure says something about this name only. What concerns all of them ends the lookup.
    private static func concernsOne(_ kind: DirectoryError.Kind) -> Bool {
        switch kind {
        case .emptySearch, .invalidQuery, .notFound, .ambiguous, .badRequest, .notPermitted: true
        default: false
        }
    }
}
