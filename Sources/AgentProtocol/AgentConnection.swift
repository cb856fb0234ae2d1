import CLodgeAgent

/// A connection that waits for whole messages: the client's end and the worker's end.
package struct AgentConnection: ~Copyable {
    package let socket: Int32
    private var buffer: [UInt8] = []
    private var descriptors: [Int32] = []

    package init(_ socket: Int32) { self.socket = socket }

    deinit { for descriptor in descriptors + [socket] { close(descriptor) } }

    /// Sends bytes, with descriptors attached to the first. Returns whether it succeeded.
    package func send(_ bytes: [UInt8], descriptors: [Int32] = []) -> Bool {
        Self.send(bytes, to: socket, descriptors)
    }

    package static func send(_ bytes: [UInt8], to socket: Int32, _ descriptors: [Int32] = []) -> Bool {
        var rest = bytes[...]
        var attached = descriptors
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                lodge_agent_send(socket, $0.baseAddress, $0.count, attached, Int32(attached.count))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
            attached = []
        }
        return true
    }

    /// Returns the next line without its end, or `nil` at the end of the connection, after the receive limit, or if the
    /// line is too long.
    package mutating func line() -> [UInt8]? {
        while true {
            if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffer.removeFirst(end + 1) }
                return Array(buffer[..<end])
            }
            guard buffer.count <= AgentLimits.message, receive() else { return nil }
        }
    }

    /// Returns exactly this number of bytes, or `nil` if the connection ends before.
    package mutating func bytes(_ count: Int) -> [UInt8]? {
        while buffer.count < count { guard receive() else { return nil } }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Returns the descriptors that came with the messages so far. The caller closes them.
    package mutating func takeDescriptors() -> [Int32] {
        defer { descriptors = [] }
        return descriptors
    }

    private mutating func receive() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        var received: [Int32] = [-1, -1, -1, -1]
        var found: Int32 = 0
        let count = lodge_agent_receive(socket, &chunk, chunk.count, &received, &found, false)
        guard count > 0 else { return false }
        descriptors += received.prefix(Int(found))
        buffer += chunk[..<count]
        return true
    }
}
