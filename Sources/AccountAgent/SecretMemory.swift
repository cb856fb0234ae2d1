import AgentProtocol
import CLodgeAgent

/// Memory for the remembered outputs: locked, not part of a core file, and overwritten when it is released.
struct SecretMemory: ~Copyable {
    private let bytes: UnsafeMutableRawPointer
    private(set) var count = 0

    /// Creates empty memory. Returns `nil` if the system does not lock more memory for this user.
    init?() {
        guard let bytes = lodge_agent_map_secret(AgentLimits.output) else { return nil }
        self.bytes = bytes
    }

    deinit {
        lodge_agent_erase(bytes, AgentLimits.output)
        munmap(bytes, AgentLimits.output)
    }

    /// Reads exactly `count` bytes from a socket. Returns whether it succeeded.
    mutating func read(_ count: Int, from socket: Int32) -> Bool {
        self.count = 0
        while self.count < count {
            let received = recv(socket, bytes + self.count, count - self.count, Int32(MSG_WAITALL))
            if received < 0, errno == EINTR { continue }
            guard received > 0 else { return false }
            self.count += received
        }
        return true
    }

    /// Sends all bytes without waiting. Returns whether the socket accepted them.
    func send(to socket: Int32) -> Bool { lodge_agent_send(socket, bytes, count, nil, 0) == count }
}
