import AgentProtocol
import LodgeAgent
import LodgePlatform

/// Starts the agent for the next commands.
enum AgentStart {
    /// Starts the agent in the background if a command line could have used it and none listens on its socket.
    ///
    /// - Parameter arguments: The command line of this process.
    @MainActor static func start(_ arguments: [String], _ environment: [String: String]) {
        guard
            ServedCommand.isServed(
                arguments, { environment[$0].flatMap { $0.isEmpty ? nil : $0 } }, isTerminal: { isatty($0) == 1 }),
            let path = try? AgentRules.socket({ environment[$0].flatMap { $0.isEmpty ? nil : $0 } }),
            let program = Launch.current?.launcher ?? ProcessIdentity.programPath
        else { return }
        do throws(AgentSocket.Problem) {
            close(try AgentSocket.connect(to: path))
            return
        } catch {
            switch error {
            case .missing, .notListening: break
            case .noPath, .tooLong, .notASocket, .unsafe, .otherUser: return
            }
        }
        // The new process cannot report an error. Without an agent, the next command works, too.
        SystemCalls.start([program, "agent", "run"], environment.map { "\($0.key)=\($0.value)" })
    }
}
