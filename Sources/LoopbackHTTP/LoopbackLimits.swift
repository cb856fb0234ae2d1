extension LoopbackListener {
    /// The limits of a listener, which no client can exhaust.
    package struct Limits: Sendable, Equatable {
        /// The maximum number of bytes of a request line; otherwise the response is 414.
        package var requestLineBytes = 8 << 10
        /// The maximum number of bytes of request line and header fields; otherwise the response is 431.
        package var headerBytes = 16 << 10
        /// The maximum number of header fields; otherwise the response is 431.
        package var fields = 100
        /// The maximum number of bytes of content; otherwise the response is 413.
        package var bodyBytes = 64 << 10
        /// The maximum number of simultaneous connections. An additional one replaces the connection that is idle
        /// longest. If all connections are busy, it waits in the system's queue.
        package var connections = 64
        /// The maximum number of requests on a connection. 1 closes each connection after its response.
        package var requestsPerConnection = 1
        /// The maximum time without progress, between requests or while sending a response.
        package var idleTime: Duration = .seconds(30)
        /// The maximum time from the first byte of a request to its last. A slower connection is closed without a
        /// response.
        package var requestTime: Duration = .seconds(10)
        /// The maximum time of the handler. After it, the task is cancelled and the response is 503.
        package var responseTime: Duration = .seconds(60)
        /// Whether to close connections of other ordinary users of this machine, if the system identifies the user
        /// (Linux).
        package var refusesOtherUsers = false
        /// The maximum time to finish responses after `close()`.
        package var closingTime: Duration = .seconds(1)

        /// Creates limits for small requests, one per connection.
        package init() {}

        /// The limits for an OAuth redirect to this user's browser.
        package static var redirect: Limits {
            var limits = Limits()
            limits.refusesOtherUsers = true
            return limits
        }

        /// The limits of a server for programs: persistent connections, content up to 1 MiB.
        package static var server: Limits {
            var limits = Limits()
            limits.requestsPerConnection = 100_000
            limits.bodyBytes = 1 << 20
            limits.connections = 256
            return limits
        }
    }
}
