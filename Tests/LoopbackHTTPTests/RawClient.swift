import Foundation
import LodgePlatform
import TestSupport

@testable import LoopbackHTTP

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Runs blocking work on a separate thread, so that no thread of the cooperative pool blocks.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

struct RawClientError: Error {
    let operation: String
    let code: Int32
}

/// A client that sends the given bytes unchanged. Its calls block: use it inside ``onThread(_:)``.
final class RawClient: Sendable {
    let descriptor: Int32

    /// Creates a connection to 127.0.0.1 or another loopback address.
    ///
    /// - Parameter receiveBuffer: The size of the socket's receive buffer. The default is the system's.
    init(port: UInt16, address: String = "127.0.0.1", receiveBuffer: Int32? = nil) throws {
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        let six = address.contains(":")
        descriptor = socket(six ? AF_INET6 : AF_INET, stream, 0)
        var limit = timeval()
        // A generous limit, because responses can be slow while many tests run. A correct response does not need it.
        limit.tv_sec = .init(TestTime.seconds(60))
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if var receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
        }
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        var sixAddress = sockaddr_in6()
        sixAddress.sin6_family = sa_family_t(AF_INET6)
        sixAddress.sin6_port = port.bigEndian
        let status: Int32
        if six {
            inet_pton(AF_INET6, address, &sixAddress.sin6_addr)
            status = withUnsafeBytes(of: &sixAddress) {
                connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
            }
        } else {
            inet_pton(AF_INET, address, &four.sin_addr)
            status = withUnsafeBytes(of: &four) {
                connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
            }
        }
        guard status == 0 else { throw RawClientError(operation: "connect", code: errno) }
    }

    deinit { FileDescriptor.close(descriptor) }

    /// Sends the bytes in pieces of this size, and stops if the peer has disconnected.
    func send(_ bytes: [UInt8], pieces: Int = .max) {
        var position = 0
        while position < bytes.count {
            let piece = bytes[position..<min(bytes.count, pieces == .max ? bytes.count : position + pieces)]
            guard case .bytes(let count) = StreamSocket.transmit(descriptor, piece) else { return }
            position += count
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func endSending() { StreamSocket.endSending(descriptor) }

    /// Returns the bytes of one read, or `nil` at the end of the connection. Throws after the receive timeout.
    func receive(_ limit: Int = 65536) throws -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if count > 0 { return Array(buffer[..<count]) }
        guard count < 0, errno == EAGAIN || errno == EWOULDBLOCK else { return nil }
        throw RawClientError(operation: "receive", code: errno)
    }

    /// Returns all bytes until the end of the connection.
    func receiveAll() throws -> [UInt8] {
        var all: [UInt8] = []
        while let piece = try receive() { all += piece }
        return all
    }

    /// Returns the next response and keeps the additional bytes in `rest`.
    func receiveAnswer(rest: inout [UInt8], hasContent: Bool = true) throws -> RawAnswer? {
        while true {
            if let (answer, length) = RawAnswer.parse(rest, hasContent: hasContent) {
                rest.removeFirst(length)
                return answer
            }
            guard let piece = try receive() else { return nil }
            rest += piece
        }
    }
}

/// A parsed response.
struct RawAnswer: Sendable {
    var status: Int
    var head: String
    var body: [UInt8]

    /// Parses a response and returns its length. Without Content-Length, the content is the rest.
    static func parse(_ bytes: [UInt8], hasContent: Bool = true) -> (RawAnswer, Int)? {
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else { return nil }
        let head = String(decoding: bytes[..<end], as: UTF8.self)
        guard let status = Int(head.dropFirst(9).prefix(3)) else { return nil }
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) }
        let start = end + 4
        let count = hasContent && status != 100 ? length ?? (bytes.count - start) : 0
        guard bytes.count >= start + count else { return nil }
        return (RawAnswer(status: status, head: head, body: Array(bytes[start..<(start + count)])), start + count)
    }

    func field(_ name: String) -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
            .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
    }

    var text: String { String(decoding: body, as: UTF8.self) }
}

/// Sends one request on a new connection and reads until the connection ends.
func exchange(port: UInt16, _ raw: String, address: String = "127.0.0.1") async throws -> RawAnswer? {
    try await onThread {
        let client = try RawClient(port: port, address: address)
        client.send(raw)
        return RawAnswer.parse(try client.receiveAll())?.0
    }
}
