import AgentProtocol
import CLodgeAgent

/// The socket on which the agent waits for clients.
package enum ListeningSocket {
    package enum Failure: Error, Equatable {
        case path(AgentSocket.Problem)
        case alreadyRunning(String)
        case system(String, path: String)
    }

    /// Returns the socket of the service manager, otherwise creates one at the path.
    package static func open(
        at path: () throws(AgentSocket.Problem) -> String
    ) throws(Failure) -> (socket: Int32, path: String?) {
        if let inherited = inheritedSocket() { return (inherited, nil) }
        let created: String
        do throws(AgentSocket.Problem) {
            created = try path()
        } catch {
            throw .path(error)
        }
        return (try create(at: created), created)
    }

    /// Returns the socket that systemd passed.
    ///
    /// See sd_listen_fds(3). The manager keeps the same socket, so it must not be shut down.
    private static func inheritedSocket() -> Int32? {
        let (process, count) = (SystemCalls.variable("LISTEN_PID"), SystemCalls.variable("LISTEN_FDS"))
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        guard let process, process == "\(getpid())", let count = count.flatMap({ Int($0) }), count >= 1,
            lodge_agent_is_listening(3)
        else { return nil }
        _ = fcntl(3, F_SETFD, FD_CLOEXEC)
        return 3
    }

    /// Creates the folder and the socket. Replaces the socket of an agent that has ended.
    private static func create(at path: String) throws(Failure) -> Int32 {
        mkdir(AgentSocket.folder(of: path), 0o700)
        do throws(AgentSocket.Problem) {
            try AgentSocket.checkFolder(path)
            let other = try AgentSocket.connect(to: path)
            close(other)
            throw AgentSocket.Problem.otherUser("")
        } catch {
            switch error {
            case .missing, .notListening: break
            case .otherUser(""): throw .alreadyRunning(path)
            default: throw .path(error)
            }
        }
        // Two agents that start at the same time must not remove each other's socket.
        let lock = openLock(for: path)
        guard lock >= 0 else { throw .system(String(cString: strerror(errno)), path: path + ".lock") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw .alreadyRunning(path) }
        unlink(path)
        let socket = lodge_agent_listen(path)
        guard socket >= 0 else { throw .system(String(cString: strerror(errno)), path: path) }
        return socket
    }
}

/// Opens the file for the lock of the agent at this path. The agent holds the lock until it ends, and leaves the file:
/// another agent could already have it open.
private func openLock(for path: String) -> Int32 {
    open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
}
