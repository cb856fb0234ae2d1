import CLodgeAgent

/// The path of the agent's socket, and the checks of its owner.
package enum AgentSocket {
    /// The reason why the socket cannot be used.
    package enum Problem: Error, Sendable, Equatable {
        /// The environment has no absolute path of the socket.
        case noPath
        case tooLong(String)
        /// There is no socket: no agent has been started.
        case missing(String)
        case notASocket(String)
        /// Another user could replace the socket.
        case unsafe(String)
        /// No process listens on the socket.
        case notListening(String)
        /// Another user's process listens on the socket.
        case otherUser(String)
    }

    /// The longest path of a socket in bytes.
    private static let maximumPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    /// Throws if a path is not absolute or too long.
    package static func check(_ path: String) throws(Problem) {
        guard path.utf8.first == UInt8(ascii: "/") else { throw .noPath }
        guard path.utf8.count <= maximumPath else { throw .tooLong(path) }
    }

    package static func folder(of path: String) -> String {
        let bytes = Array(path.utf8)
        let end = bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0
        return String(decoding: bytes[..<max(1, end)], as: UTF8.self)
    }

    /// Throws if the folder of the socket is not a folder that only this user can write.
    package static func checkFolder(_ path: String) throws(Problem) {
        guard let status = SystemCalls.linkStatus(folder(of: path)) else { throw .missing(path) }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw .unsafe(folder(of: path))
        }
    }

    /// Connects to the agent.
    package static func connect(to path: String) throws(Problem) -> Int32 {
        guard let status = SystemCalls.linkStatus(path) else { throw .missing(path) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path) }
        try checkFolder(path)
        guard status.st_uid == geteuid() else { throw .otherUser(path) }
        let socket = lodge_agent_connect(path)
        guard socket >= 0 else { throw .notListening(path) }
        guard lodge_agent_peer_user(socket, nil) == Int64(geteuid()) else {
            close(socket)
            throw .otherUser(path)
        }
        return socket
    }
}
