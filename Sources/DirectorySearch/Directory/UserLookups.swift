/// What a name led to.
public struct UserLookup: Sendable {
    /// The name that was asked for, as it was given.
    public var name: String
    /// The person, or why there is none: of the kind `notFound` when nobody has this name.
    public var result: Result<User, DirectoryError>

    /// A name and what it led to.
    public init(name: String, result: Result<User, DirectoryError>) {
        self.name = name
        self.result = result
    }
}

/// What gives the answers of one lookup, some at a time: the part of a directory's own.
public protocol UserLookupSource: Sendable {
    /// The next answers, in the order of the names; nil after the last.
    mutating func next() async throws -> [UserLookup]?
}

/// The people behind many names, in the order of the names. Names are read, and people fetched, a little ahead of the reader and no
/// further.
///
/// Each iteration asks anew. One that failed as a whole, as without a network, ends; a name that nobody has is an answer.
public struct UserLookups: AsyncSequence, Sendable {
    /// A name and what it led to.
    public typealias Element = UserLookup

    private let begin: @Sendable () -> any UserLookupSource

    /// The answers of a source, which is made anew for each iteration.
    public init(_ begin: @escaping @Sendable () -> any UserLookupSource) { self.begin = begin }

    /// Begins to read; the first request is sent by the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(source: begin()) }

    /// Reads the answers in the order of the names.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private var source: (any UserLookupSource)?
        private var answers: [UserLookup] = []
        private var index = 0

        init(source: any UserLookupSource) { self.source = source }

        /// The next answer, or nil after the last.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next() async throws -> UserLookup? {
            while index >= answers.count {
                index = 0
                answers = []
                guard var source else { return nil }
                // Until there are answers, so that whatever is thrown ends the iteration.
                self.source = nil
                guard let more = try await source.next() else { return nil }
                answers = more
                self.source = source
            }
            defer { index += 1 }
            return answers[index]
        }
    }
}
