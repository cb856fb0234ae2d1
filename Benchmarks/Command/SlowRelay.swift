import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Passes the bytes of connections to a port of this machine, and delays them.
///
/// The kernel's own delay needs permissions and a module. A relay cannot delay the handshake of TCP, so it delays the first
/// bytes of a connection by one more round trip.
final class SlowRelay: Sendable {
    let port: UInt16
    private let listener: Int32
    private let target = Mutex<UInt16>(0)
    /// In microseconds.
    private let delay: UInt32
    private let queue = DispatchQueue(label: "relay", attributes: .concurrent)

    init(delay: Duration) throws {
        self.delay = UInt32(delay / .microseconds(1))
        let listener = socket(AF_INET, streamType, 0)
        var address = Self.address(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        guard bound else { throw BenchmarkError("the relay has no port") }
        port = UInt16(bigEndian: address.sin_port)
        self.listener = listener
        queue.async { [self] in
            while case let client = accept(listener, nil, nil), client >= 0 { queue.async { self.connect(client) } }
        }
    }

    /// Passes new connections to this port.
    func start(to port: UInt16) { target.withLock { $0 = port } }

    func close() { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private func connect(_ client: Int32) {
        let server = socket(AF_INET, streamType, 0)
        var address = Self.address(target.withLock { $0 })
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connectToAddress(server, $0, size) == 0 }
        }
        var on: Int32 = 1
        for end in [client, server] {
            setsockopt(end, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        guard isConnected else { return }
        queue.async { self.pass(server, client, first: self.delay) }
        pass(client, server, first: 3 * delay)
    }

    /// Passes bytes until the sender closes its end. Each block waits, as on a link.
    private func pass(_ source: Int32, _ sink: Int32, first: UInt32) {
        var isFirst = true
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while case let count = recv(source, &chunk, chunk.count, 0), count > 0 {
            usleep(isFirst ? first : delay)
            isFirst = false
            var sent = 0
            while sent < count {
                let written = chunk[sent..<count].withUnsafeBytes { send(sink, $0.baseAddress, $0.count, sendFlags) }
                guard written > 0 else { return }
                sent += written
            }
        }
        shutdown(sink, Int32(SHUT_WR))
    }
}

#if canImport(Darwin)
    private let streamType = SOCK_STREAM
    private let sendFlags: Int32 = 0
#else
    private let streamType = Int32(SOCK_STREAM.rawValue)
    private let sendFlags = Int32(MSG_NOSIGNAL)
#endif

private func connectToAddress(_ socket: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32 {
    connect(socket, address, size)
}
