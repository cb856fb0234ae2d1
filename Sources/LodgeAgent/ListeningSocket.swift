import AgentProtocol
import CLodgeAgent

/// The socket on which the agent waits for clients.
package struct ListeningSocket {
    package enum Failure: Error, Equatable {
        case path(AgentSocket.Problem)
        case alreadyRunning(String)
        case system(String, path: String)
    }

    let descriptor: Int32
    /// The path of the socket that this process created, or `nil` if it belongs to a service manager.
    let path: String?
    /// The file whose lock keeps other agents from the path, or -1.
    let lock: Int32

    /// Creates a socket at the path, unless the service manager has passed one.
    package init(at path: () throws(AgentSocket.Problem) -> String) throws(Failure) {
        if let inherited = Self.inheritedSocket() {
            (self.descriptor, self.path, lock) = (inherited, nil, -1)
            return
        }
        let created: String
        do throws(AgentSocket.Problem) {
            created = try path()
        } catch {
            throw .path(error)
        }
        self.path = created
        (descriptor, lock) = try Self.create(at: created)
    }

    /// Creates a socket at the path for another program.
    package init(creating path: String) throws(Failure) {
        do throws(AgentSocket.Problem) { try AgentSocket.check(path) } catch { throw .path(error) }
        self.path = path
        (descriptor, lock) = try Self.create(at: path)
    }

    /// Lets the program that replaces this process inherit the socket and the lock.
    ///
    /// They keep their numbers: another thread of this process may be about to close any other number.
    package func passOn() { for number in [descriptor, lock] { _ = fcntl(number, F_SETFD, 0) } }

    /// The first descriptor that systemd passes.
    private static let firstInherited: Int32 = 3

    /// Returns the socket that systemd or launchd passed.
    ///
    /// See sd_listen_fds(3). The manager keeps the same socket, so it must not be shut down.
    private static func inheritedSocket() -> Int32? {
        let launched = lodge_agent_launchd_socket()
        if launched >= 0 { return launched }
        let (process, count) = (SystemCalls.variable("LISTEN_PID"), SystemCalls.variable("LISTEN_FDS"))
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        guard let process, process == "\(getpid())", let count = count.flatMap({ Int($0) }), count >= 1,
            lodge_agent_is_listening(firstInherited)
        else { return nil }
        return firstInherited
    }

    /// Creates the folder and the socket. Replaces the socket of an agent that has ended.
    private static func create(at path: String) throws(Failure) -> (socket: Int32, lock: Int32) {
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
        return (socket, lock)
    }
}

/// Opens the file for the lock of the agent at this path. The agent holds the lock until it ends, and leaves the file:
/// another agent could already have it open.
private func openLock(for path: String) -> Int32 {
    open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
}
