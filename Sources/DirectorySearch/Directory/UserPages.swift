/// One answer of a search: some people, and what the service says beside them.
public struct UserPage: Sendable, Equatable {
    /// The people, in the service's order. May be empty although more pages follow.
    public var users: [User]
    /// How many people there are in all; only on the first page, and only when it was asked for.
    public var count: Int?
    /// Whether the service has more.
    public var hasMore: Bool

    /// A page.
    public init(users: [User], count: Int? = nil, hasMore: Bool = false) {
        self.users = users
        self.count = count
        self.hasMore = hasMore
    }
}

/// What gives the pages of one search, one after the other: the part of a directory's own.
public protocol UserPageSource: Sendable {
    /// The next page, or nil after the last. Not called again after nil or an error.
    mutating func next() async throws -> UserPage?
}

/// The pages of a search. While one is read the next is fetched already, one and no more.
///
/// Each iteration asks anew. An iteration that failed ends.
public struct UserPages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = UserPage

    private let begin: @Sendable () -> any UserPageSource

    /// The pages of a source, which is made anew for each iteration.
    public init(_ begin: @escaping @Sendable () -> any UserPageSource) { self.begin = begin }

    /// Begins to read; the first request is sent by the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(begin()) }

    /// Begins to read without fetching ahead: each `next()` sends its own request. For whoever asks for a further page only when a person
    /// wants it. A source is a value: where a copy failed, the one before it can be asked again.
    public func makeSource() -> any UserPageSource { begin() }

    /// Reads the pages in order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private enum State: Sendable {
            case beginning(any UserPageSource)
            case fetching(Fetch<Fetched>)
            case end
        }

        private struct Fetched: Sendable {
            var page: UserPage?
            var source: any UserPageSource
        }

        private var state: State

        init(_ source: any UserPageSource) { state = .beginning(source) }

        /// The next page, or nil after the last.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next() async throws -> UserPage? {
            let current = state
            // Until a page is read, so that whatever is thrown below ends the iteration.
            state = .end
            let fetched: Fetched
            switch current {
            case .end: return nil
            case .fetching(let fetch): fetched = try await fetch.value()
            case .beginning(var source): fetched = Fetched(page: try await source.next(), source: source)
            }
            guard let page = fetched.page else { return nil }
            if page.hasMore {
                state = .fetching(
                    Fetch {
                        var source = fetched.source
                        return Fetched(page: try await source.next(), source: source)
                    })
            }
            return page
        }
    }
}

/// Work that runs ahead, and ends when nobody wants its result any more.
final class Fetch<Value: Sendable>: Sendable {
    private let task: Task<Value, any Error>

    init(_ work: @escaping @Sendable () async throws -> Value) { task = Task { try await work() } }

    deinit { task.cancel() }

    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }
}

/// The people of a search, one by one; pages are fetched as they are needed and not kept.
///
/// Each iteration asks anew. An iteration that failed ends.
public struct Users: AsyncSequence, Sendable {
    /// A person.
    public typealias Element = User

    let pages: UserPages

    /// Begins to read; the first request is sent by the first `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    /// Reads the people in the service's order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private var pages: UserPages.Iterator
        private var users: [User] = []
        private var index = 0

        init(pages: UserPages.Iterator) { self.pages = pages }

        /// The next person, or nil after the last.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next() async throws -> User? { try await next(isolation: nil) }

        /// The next person, or nil after the last.
        ///
        /// Stays with the caller's actor as long as there are people in the page; only fetching and reading a page leaves
        /// it. A change of threads for each person would take ten times as long as reading them.
        ///
        /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> User? {
            while index >= users.count {
                // Let go of the page before the next is taken.
                users = []
                index = 0
                guard let page = try await pages.next() else { return nil }
                users = page.users
            }
            defer { index += 1 }
            return users[index]
        }
    }
}
