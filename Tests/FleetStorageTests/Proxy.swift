import Foundation
import Synchronization

/// A proxy between a client and the server that can lose a result.
final class Proxy: Sendable {
    private struct State {
        var connections: [Int32] = []
        var isCut = false
        var isBlackHole = false
        var isArmed = false
        var isClosing = false
        var lost = 0
    }
    private let state = Mutex(State())
    private let listener: Int32
    private let server: UInt16
    let port: UInt16

    init(to url: String?) throws {
        server = UInt16(URLComponents(string: url ?? "")?.port ?? 5432)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = Self.address(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 10) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard bound else { throw CocoaError(.fileReadUnknown) }
        port = UInt16(bigEndian: address.sin_port)
        Thread { [weak self, listener] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else { return }
                self.serve(client)
            }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Closes the connection instead of forwarding the next result, and then optionally rejects new connections.
    func loseNextResult(andCloseFor isClosing: Bool = false) {
        state.withLock {
            $0.isArmed = true
            $0.isClosing = isClosing
        }
    }

    /// Breaks all connections, and rejects new ones until ``restore()``.
    func cut() {
        state.withLock { state in
            state.isCut = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    /// Forwards nothing until ``restore()``, without an end of the connections.
    func swallow() { state.withLock { $0.isBlackHole = true } }

    /// Forwards again, first the swallowed bytes.
    func restore() {
        state.withLock { state in
            state.isCut = false
            state.isBlackHole = false
        }
    }

    private func awaitNetwork() { while state.withLock({ $0.isBlackHole }) { usleep(1000) } }

    /// The number of lost results.
    var lost: Int { state.withLock { $0.lost } }

    private func serve(_ client: Int32) {
        let isRefused = state.withLock { $0.isCut || $0.isClosing && $0.lost > 0 }
        let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.address(server)
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard connected, !isRefused else {
            close(client)
            close(upstream)
            return
        }
        state.withLock { $0.connections += [client, upstream] }
        Thread { [weak self] in
            Self.copy(from: client, to: upstream) {
                self?.awaitNetwork()
                return true
            }
        }.start()
        Thread { [weak self] in
            Self.copy(from: upstream, to: client) {
                self?.awaitNetwork()
                return self?.state.withLock { state in
                    guard state.isArmed else { return true }
                    state.isArmed = false
                    state.lost += 1
                    return false
                } ?? true
            }
            self?.state.withLock { $0.connections.removeAll { [client, upstream].contains($0) } }
            close(client)
            close(upstream)
        }.start()
    }

    private static func copy(from source: Int32, to target: Int32, passes: () -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(source, &buffer, buffer.count)
            guard count > 0, passes(), send(target, buffer, count, Int32(MSG_NOSIGNAL)) == count else {
                break
            }
        }
        shutdown(source, Int32(SHUT_RDWR))
        shutdown(target, Int32(SHUT_RDWR))
    }
}
