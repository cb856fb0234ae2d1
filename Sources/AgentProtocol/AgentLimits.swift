/// The limits of the agent. Times are in seconds.
package enum AgentLimits {
    package static let protocolVersion: Int64 = 1
    /// The maximum number of connections. More wait in the backlog of the socket.
    package static let connections = 64
    /// The maximum size of a message in bytes.
    package static let message = 64 * 1024
    /// The maximum size of an output that the agent remembers, in bytes.
    package static let output = 8 * 1024
    package static let outputs = 64
    /// The maximum size of the store's key in any encoding, in bytes.
    package static let key = 64
    package static let workers = 4
    /// The maximum number of sockets that other programs use, and their longest time.
    package static let listeners = 8
    package static let listening = 30 * 86_400.0
    /// The time in which the refreshes start that were due during a suspend.
    package static let spreadAfterSuspend = 30.0
    /// The standard streams of a client, and the pipe on which the worker reports.
    package static let descriptors = 4
    /// The maximum number of workers that refresh tokens while no client waits.
    package static let backgroundWorkers = 2
    /// The maximum wait for the first message of a connection.
    package static let firstMessage = 2.0
    /// The maximum wait of a command line while all workers are busy, for instance with a provider that does not respond.
    package static let freeWorker = 1.0
    /// The maximum wait for another message of a connection.
    package static let idleConnection = 60.0
    /// The time after which a client that has no response does the work itself.
    package static let firstResponse: Int32 = 2
    /// The time after which a worker without requests ends.
    package static let idleWorker = 300.0
    /// The time after the last request of a client in which the agent refreshes a token.
    package static let interest = 86_400.0
    /// The delays after a failed refresh.
    package static let firstRetry = 30.0
    package static let lastRetry = 900.0
}
