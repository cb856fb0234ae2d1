extension LoopbackListener {
    /// What a listener accepts. Every limit is there so that no client can use it up.
    package struct Limits: Sendable, Equatable {
        /// The most bytes of a request line; longer ones are answered 414.
        package var requestLineBytes = 8 << 10
        /// The most bytes of request line and header fields; more are answered 431.
        package var headerBytes = 16 << 10
        /// The most header fields; more are answered 431.
        package var fields = 100
        /// The most bytes of content; more are answered 413.
        package var bodyBytes = 64 << 10
        /// The most connections at once. One more takes the place of the one that has been silent longest; when all are
        /// at work it waits in the system's queue.
        package var connections = 64
        /// How many requests a connection may carry. 1 closes each connection after its answer.
        package var requestsPerConnection = 1
        /// How long a connection may be silent, between requests or while an answer is being written.
        package var idleTime: Duration = .seconds(30)
        /// How long a request may take from its first byte to its last. A slower one is closed without an answer.
        package var requestTime: Duration = .seconds(10)
        /// How long the handler may take. After that its task is cancelled and the answer is 503.
        package var answerTime: Duration = .seconds(60)
        /// How long answers under way may go on after `close()`.
        package var closingTime: Duration = .seconds(1)

        /// The limits that suit an OAuth redirect: small requests, one a connection.
        package init() {}

        /// The limits that suit a server which programs talk to: connections are kept, content up to 1 MiB.
        package static var server: Limits {
            var limits = Limits()
            limits.requestsPerConnection = 100_000
            limits.bodyBytes = 1 << 20
            limits.connections = 256
            return limits
        }
    }
}
