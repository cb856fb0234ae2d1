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
    mutating func receive(_ count: Int, from socket: Int32) -> Bool {
        self.count = 0
        while self.count < count {
            let received = recv(socket, bytes + self.count, count - self.count, Int32(MSG_WAITALL))
            if received < 0, errno == EINTR { continue }
            guard received > 0 else { return false }
            self.count += received
        }
        return true
    }

    /// Reads the bytes that a pipe contains, at most the size of a key in any encoding. Returns whether there are any.
    mutating func readAll(of file: Int32) -> Bool {
        count = 0
        while count < AgentLimits.key {
            let received = read(file, bytes + count, AgentLimits.key - count)
            if received < 0, errno == EINTR { continue }
            guard received > 0 else { break }
            count += received
        }
        return count > 0
    }

    /// Sends a message and all bytes without waiting. Returns whether the socket accepted them.
    func send(_ head: [UInt8], to socket: Int32) -> Bool {
        lodge_agent_send_two(socket, head, head.count, bytes, count) == head.count + count
    }

    /// Returns the read end of a pipe that contains the bytes, or -1.
    func pipe() -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard systemPipe(&ends) == 0 else { return -1 }
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        // A pipe holds at least 4 KiB, so this does not wait.
        let isWritten = write(ends[1], bytes, count) == count
        close(ends[1])
        if isWritten { return ends[0] }
        close(ends[0])
        return -1
    }
}

private func systemPipe(_ ends: UnsafeMutablePointer<Int32>) -> Int32 { pipe(ends) }
