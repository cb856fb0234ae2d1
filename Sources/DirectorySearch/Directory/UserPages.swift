/// One page of a search.
public struct UserPage: Sendable, Equatable {
    /// The users in the service's order. The list can be empty although more pages follow.
    public var users: [User]
    /// The total number of users; only on the first page, and only if the query requests it.
    public var count: Int?
    /// Whether more pages follow.
    public var hasMore: Bool

    /// Creates a page.
    public init(users: [User], count: Int? = nil, hasMore: Bool = false) {
        self.users = users
        self.count = count
        self.hasMore = hasMore
    }
}

/// The source of the pages of one search, specific to a kind of directory.
public protocol UserPageSource: Sendable {
    /// Returns the next page, or `nil` after the last. Not called again after `nil` or an error.
    mutating func next() async throws -> UserPage?
}

/// The pages of a search. The next page is loaded while the caller reads the current one.
///
/// Each iteration sends its own requests, and ends with an error.
public struct UserPages: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = UserPage

    private let makePages: @Sendable () -> any UserPageSource

    /// Creates the pages of a source. Each iteration creates its own source.
    public init(_ makePages: @escaping @Sendable () -> any UserPageSource) { self.makePages = makePages }

    /// Returns an iterator. Its first `next()` sends the first request.
    public func makeAsyncIterator() -> Iterator { Iterator(makePages()) }

    /// Returns a source without prefetching, for a program that loads the next page at the user's request.
    ///
    /// A source is a value: after an error of a copy, the original can load the page again.
    package func makeSource() -> any UserPageSource { makePages() }

    /// An iterator over the pages.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private enum State: Sendable {
            case start(any UserPageSource)
            case fetching(Fetch<Fetched>)
            case end
        }

        private struct Fetched: Sendable {
            var page: UserPage?
            var source: any UserPageSource
        }

        private var state: State

        init(_ source: any UserPageSource) { state = .start(source) }

        /// Returns the next page, or `nil` after the last.
        ///
        /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
        public mutating func next() async throws -> UserPage? {
            let current = state
            // An error ends the iteration.
            state = .end
            let fetched: Fetched
            switch current {
            case .end: return nil
            case .fetching(let fetch): fetched = try await fetch.value()
            case .start(var source): fetched = Fetched(page: try await source.next(), source: source)
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

/// A background task that is cancelled with its last reference.
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

/// The users of a search. A page is loaded on demand, and only one is in memory.
///
/// Each iteration sends its own requests, and ends with an error.
public struct Users: AsyncSequence, Sendable {
    /// A user.
    public typealias Element = User

    let pages: UserPages

    /// Returns an iterator. Its first `next()` sends the first request.
    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    /// An iterator over the users in the service's order.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        private var pages: UserPages.Iterator
        private var users: [User] = []
        private var index = 0

        init(pages: UserPages.Iterator) { self.pages = pages }

        /// Returns the next user, or `nil` after the last.
        ///
        /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
        public mutating func next() async throws -> User? { try await next(isolation: nil) }

        /// Returns the next user, or `nil` after the last.
        ///
        /// Stays on the caller's actor while the page has users; only loading a page leaves it. A change of threads for
        /// each user would take ten times as long as reading it.
        ///
        /// - Throws: ``DirectoryError``; the errors of the transport and the authorization; `CancellationError`.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> User? {
            while index >= users.count {
                // Releases the page before the next one is loaded.
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
