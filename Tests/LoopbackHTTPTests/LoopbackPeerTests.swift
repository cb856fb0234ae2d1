import LodgePlatform
import Testing

@testable import LoopbackHTTP
@testable import LodgePlatform

/// The owner of the other end of a connection.
struct LoopbackPeerTests {
    private static let names =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    private static let here = StreamSocket.Endpoint(address: [127, 0, 0, 1], port: 0x1F90)
    private static let there = StreamSocket.Endpoint(address: [127, 0, 0, 1], port: 0xC001)
    /// The accepted end, owned by the user of the listener.
    private static let accepted = line("0100007F:1F90", "0100007F:C001", user: 1000, inode: 7)

    private static func line(_ local: String, _ remote: String, state: String = "01", user: Int, inode: Int) -> String {
        "   1: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000  \(user)        0 \(inode) 1 0000 20 4 30\n"
    }

    private func owner(_ lines: String...) -> LoopbackPeer.Owner {
        LoopbackPeer.owner(of: Self.there, connectedTo: Self.here, tables: lines.map { Array((Self.names + $0).utf8) })
    }

    @Test func `the system tables contain the owner of a connection`() {
        let peer = Self.line("0100007F:C001", "0100007F:1F90", user: 1001, inode: 8)
        #expect(owner(Self.accepted + peer) == .user(1001))
        // Another connection to the same port.
        let other = Self.line("0100007F:C002", "0100007F:1F90", user: 1002, inode: 9)
        #expect(owner(Self.accepted + other + peer) == .user(1001))
        // A dual-stack socket is in the IPv6 table.
        let mapped = Self.line(
            "0000000000000000FFFF00000100007F:C001", "0000000000000000FFFF00000100007F:1F90", user: 1001, inode: 8)
        #expect(owner(Self.accepted, mapped) == .user(1001))
    }

    @Test func `the owner of a closed connection is closed, not unknown`() {
        // The process has closed its socket: the system names root, and no inode.
        #expect(
            owner(Self.accepted + Self.line("0100007F:C001", "0100007F:1F90", state: "04", user: 0, inode: 0))
                == .closed)
        // The connection was reset: the tables contain neither end.
        #expect(owner("") == .closed)
        // The other end is in another network namespace, or the system has no tables.
        #expect(owner(Self.accepted) == .unknown)
        #expect(owner() == .unknown)
    }

    @Test func `a redirect listener accepts its own user`() async throws {
        let listener = try LoopbackListener(limits: .redirect) { _ in LoopbackResponse(status: 204) }
        let port = listener.port
        let status = try await onThread {
            let client = try RawClient(port: port)
            client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
            var rest: [UInt8] = []
            return try client.receiveAnswer(rest: &rest)?.status
        }
        #expect(status == 204)
    }
}
