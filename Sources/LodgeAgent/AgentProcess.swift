import AccountAgent
import AgentProtocol
import CLodgeAgent

/// The process of the agent. `lodge agent run` opens its socket, and replaces itself with this process.
///
/// It must be another program, or the same one from its start, because Dispatch, once used, wakes a process every second.
package enum AgentProcess {
    /// The hidden command.
    package static let command = "__agent"

    /// Opens the sockets for the agent that replaces this process, and returns the arguments of the agent.
    ///
    /// - Parameters:
    ///   - program: The path of lodge, which the workers run.
    ///   - listeners: The sockets of other programs. Their descriptors are not used.
    ///   - path: Returns the path of the socket, unless a service manager has passed one.
    package static func prepare(
        program: String, version: String, options: AgentOptions, path: () throws(AgentSocket.Problem) -> String
    ) throws(ListeningSocket.Failure) -> [String] {
        let socket = try ListeningSocket(at: path)
        socket.passOn()
        var options = options
        for index in options.listeners.indices {
            let other = try ListeningSocket(creating: options.listeners[index].path)
            other.passOn()
            options.listeners[index].descriptor = other.descriptor
        }
        return [
            command, program, version, socket.path ?? "", "\(socket.descriptor)", "\(socket.lock)", options.text,
        ]
    }

    /// Serves until a signal or `agent stop` ends the agent, and returns the exit status.
    package static func run(_ arguments: [String]) -> Int32 {
        lodge_agent_protect_process()
        guard arguments.count == 7, let identity = ProcessIdentity(program: arguments[1]),
            let listener = Int32(arguments[4]), lodge_agent_is_listening(listener), let lock = Int32(arguments[5]),
            let options = AgentOptions(arguments[6])
        else { return 2 }
        // The agent must not keep a folder in use.
        _ = chdir("/")
        // Workers must not inherit them.
        for descriptor in [listener, lock] + options.listeners.map(\.descriptor) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        }
        func request(_ words: [String]) -> CommandLineRequest? {
            words.isEmpty ? nil : AgentClient.currentRequest(words, arguments[1])
        }
        let loop = AgentLoop(
            listener: listener, path: arguments[3].isEmpty ? nil : arguments[3], program: arguments[1],
            identity: identity, version: arguments[2], rule: AgentRules.outputKey, options: options,
            standing: [request(options.filesCommand)].compactMap { $0 },
            workerVariables: AgentRules.workerVariables, notification: AgentRules.notification)
        for listener in options.listeners {
            if let request = request(listener.arguments) {
                loop.add(request, listener.descriptor, path: listener.path)
            }
        }
        loop.run()
        return 0
    }
}
