import AgentProtocol

/// The current time.
package struct AgentTime: Sendable, Equatable {
    /// The seconds since the system started, including the time of a suspend.
    package var uptime: Double
    /// The seconds since 1970.
    package var wall: Double
    /// The seconds that the system was suspended.
    package var asleep: Double

    package init(uptime: Double, wall: Double, asleep: Double = 0) {
        (self.uptime, self.wall, self.asleep) = (uptime, wall, asleep)
    }

    /// Changes only if the clock is set.
    var offset: Double { wall - uptime }
}

/// Something that happened to the agent.
package enum AgentEvent: Sendable {
    /// - Parameters:
    ///   - process: The process ID of the client, or 0.
    ///   - listener: The socket of another program, or `nil` for the agent's own.
    case connected(client: Int, user: Int64, process: Int64 = 0, listener: Int? = nil)
    /// A line of a client without its end. The loop holds its descriptors.
    case line(client: Int, [UInt8], descriptorCount: Int)
    /// A client sent more bytes than a message may have.
    case overflow(client: Int)
    case disconnected(client: Int)
    case workerSaid(worker: Int, WorkerResponse)
    case workerEnded(worker: Int)
    case tick
    /// The system asks the agent to end.
    case end
}

/// What the loop does for the agent.
package enum AgentEffect: Sendable, Equatable {
    case send(client: Int, AgentResponse)
    /// Sends the remembered bytes of a slot.
    case sendOutput(client: Int, slot: Int, byteCount: Int)
    case close(client: Int)
    /// Starts a worker with these variables.
    case start(worker: Int, environment: [String])
    /// Sends a request to a worker, with the descriptors of the client, or the null device if there is no client.
    case run(worker: Int, WorkerRequest, line: [UInt8], client: Int?)
    case signal(worker: Int, WorkerRequest)
    /// Closes the connection to a worker, which ends when its command is finished.
    case end(worker: Int)
    /// Keeps the bytes that the worker has just sent in a slot.
    case keep(worker: Int, slot: Int)
    /// Overwrites the bytes of a slot.
    case erase(slot: Int)
    /// Reads the key of the store from the descriptor of a client, and gives it to new workers.
    case keepKey(client: Int, store: String)
    case eraseKey
    /// Accepts connections to the socket whose descriptor the client has sent.
    case listen(client: Int, listener: Int, path: String)
    case closeListener(Int)
    /// Removes the files with tokens.
    case removeFiles
    /// Tells the user that an account needs a sign-in.
    case notify(type: String, account: String, environment: [String])
    case exit
}
