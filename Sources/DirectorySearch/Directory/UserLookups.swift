/// The result for one name.
public struct UserLookup: Sendable {
    /// The name as given by the caller.
    public var name: String
    /// The user, or the error. Its kind is `notFound` if no user has this name.
    public var result: Result<User, DirectoryError>

    /// Creates the result of a name.
    package init(name: String, result: Result<User, DirectoryError>) {
        self.name = name
        self.result = result
    }
}

/// The source of the results of one lookup, specific to a kind of directory.
public protocol UserLookupSource: Sendable {
    /// Returns the next results in the order of the names, or `nil` after the last.
    mutating func next() async throws -> [UserLookup]?
}

/// The users for many names, in the order of the names. It reads names and loads users slightly ahead of the reader.
///
/// Each iteration sends its own requests. An error of the whole lookup, such as a network error, ends it; an unknown
/// name is a result.
public struct UserLookups: AsyncSequence, Sendable {
    /// The result for one name.
    public typealias Element = UserLookup

    private let makeSource: @Sendable () -> any UserLookupSource

    /// Creates the results of a source. Each iteration creates its own source.
    public init(_ makeSource: @escaping @Sendable () -> any UserLookupSource) { self.makeSource = makeSource }

    /// Returns an iterator. Its first `next()` sends the first request.
    public func makeAsyncIterator() -> Iterator { Iterator(source: makeSource()) }

    /// An iterator over the results in the order of the names.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private var source: (any UserLookupSource)?
        private var results: [UserLookup] = []
        private var index = 0

        init(source: any UserLookupSource) { self.source = source }

        /// Returns the next result, or `nil` after the last.
        ///
        /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
        public mutating func next() async throws -> UserLookup? {
            while index >= results.count {
                index = 0
                results = []
                guard var source else { return nil }
                // An error ends the iteration.
                self.source = nil
                guard let more = try await source.next() else { return nil }
                results = more
                self.source = source
            }
            defer { index += 1 }
            return results[index]
        }
    }
}
