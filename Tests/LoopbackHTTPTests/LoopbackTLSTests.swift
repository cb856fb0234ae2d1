import Foundation
import LodgePlatform
import TestSupport
import Testing

@testable import LoopbackHTTP

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

@Test func `TLS without libssl is an error that names the library`() {
    #expect {
        _ = try LibSSL(fileNames: ["libssl-that-does-not-exist.so"])
    } throws: { error in
        guard case .tlsUnavailable(let reason)? = error as? LoopbackError else { return false }
        return reason.contains("libssl")
    }
}

@Test func `a listener with TLS accepts https in the request target`() throws {
    let secure = LoopbackAuthority(host: "localhost", port: 443, isSecure: true)
    #expect(secure.contains("localhost") && secure.contains("127.0.0.1:443"))
    func path(_ target: String) throws -> String? {
        var reader = LoopbackRequestReader(limits: .init(), authority: secure)
        guard
            case .request(let request, _, _) = try reader.read(
                Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        else { return nil }
        return request.path
    }
    #expect(try path("https://localhost/a") == "/a")
    #expect(throws: LoopbackRequestReader.Rejection.self) { try path("http://localhost/a") }
}

/// A certificate for `localhost` and its key, only for these tests.
private let certificate = """
    MIIBfzCCASWgAwIBAgIUJ95+qjHwZoRgMlm53+8ioaNrnnYwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMzAwMTg0MVoYDz\
    IxMjYxMDMwMDAxODQxWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQ9cKgmqMEt+2E0ldsS0I8ybM+KUtPJPAuN\
    suDGMSypCNjxWDsJe2YqNSkvHdLSxqBNeMH7sIsT+aw6L9GMNX7co1MwUTAdBgNVHQ4EFgQUz1vIk1fXO5VhIAp83jwsVea4pf8wHwYDVR0jBBgwFoAUz1\
    vIk1fXO5VhIAp83jwsVea4pf8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiAjiJJjiwif8/s4oMkaSuDECaxOYLLOkCU5cfwJSbqsrgIh\
    AJbwTK7+OcwemAwocmHGhmEEZ/FIVy4o49U/Zi2uwrtr
    """
private let privateKey = """
    MHcCAQEEIGhCyJUxqDJQOLH1ETHhrLOQz6RySJwNNAUdHDw9u9v4oAoGCCqGSM49AwEHoUQDQgAEPXCoJqjBLfthNJXbEtCPMmzPilLTyTwLjbLgxjEsqQ\
    jY8Vg7CXtmKjUpLx3S0sagTXjB+7CLE/msOi/RjDV+3A==
    """

/// A TLS client that limits how many bytes it reads. It does not verify the certificate.
private final class SlowTLSClient {
    private let library: LibSSL
    private let session: OpaquePointer
    private let context: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let client: RawClient

    init(port: UInt16) throws {
        client = try RawClient(port: port, receiveBuffer: 2048)
        library = try LibSSL()
        let functions = try DynamicLibrary(fileNames: LibSSL.fileNames)
        let method: @convention(c) () -> OpaquePointer? = try functions.function("TLS_client_method")
        let setConnectState: @convention(c) (OpaquePointer) -> Void = try functions.function("SSL_set_connect_state")
        context = try Self.found(library.newContext(method()))
        session = try Self.found(library.newSession(context))
        input = try Self.found(library.newBuffer(library.memoryMethod()))
        output = try Self.found(library.newBuffer(library.memoryMethod()))
        library.setBuffers(session, input, output)
        setConnectState(session)
    }

    /// Throws instead of recording an issue, because the test uses this class on another thread.
    private static func found<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw RawClientError(operation: "preparing the connection", code: errno) }
        return value
    }

    deinit {
        library.freeSession(session)
        library.freeContext(context)
    }

    /// Shrinks the listener's send buffer. Both ends of the connection are in this process.
    func shrinkListenersBuffer() throws {
        func name(_ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) -> UInt16? {
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutableBytes(of: &address) { bytes in
                bytes.baseAddress.map { call($0.assumingMemoryBound(to: sockaddr.self), &length) } ?? -1
            }
            return status == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
        }
        let port = try Self.found(name { getsockname(client.descriptor, $0, $1) })
        let listeners = (3..<4096).filter { descriptor in name { getpeername(descriptor, $0, $1) } == port }
        var size: Int32 = 4096
        let listener = try Self.found(listeners.first)
        setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    private func flush() {
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = library.readBuffer(output, &piece, Int32(piece.count))
            guard count > 0 else { return }
            client.send(Array(piece[..<Int(count)]))
        }
    }

    /// Receives encrypted bytes; returns `false` at the end of the connection.
    func receive(_ limit: Int) throws -> Bool {
        guard let bytes = try client.receive(limit) else { return false }
        _ = bytes.withUnsafeBytes { library.writeBuffer(input, $0.baseAddress, Int32($0.count)) }
        return true
    }

    /// Decrypts the received bytes. The first call starts the handshake.
    func decrypt() -> [UInt8] {
        var (all, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 << 10))
        library.clearErrors()
        while true {
            let count = library.read(session, &piece, Int32(piece.count))
            guard count > 0 else { break }
            all += piece[..<Int(count)]
        }
        flush()
        return all
    }

    /// Sends a request, after the handshake.
    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        while bytes.withUnsafeBytes({ library.write(session, $0.baseAddress, Int32($0.count)) }) <= 0 {
            flush()
            guard try receive(4096) else { throw RawClientError(operation: "handshake", code: 0) }
        }
        flush()
    }
}

@Test func `a slow client receives a response over TLS as long as it makes progress`() async throws {
    guard (try? LibSSL()) != nil else { return }
    var limits = LoopbackListener.Limits.server
    limits.idleTime = .seconds(TestTime.seconds(1))
    let content = Data(repeating: UInt8(ascii: "x"), count: 96 << 10)
    let tls = try LoopbackTLS(
        certificate: Array(try #require(Data(base64Encoded: certificate))),
        privateKey: Array(try #require(Data(base64Encoded: privateKey))))
    let listener = try LoopbackListener(tls: tls, limits: limits) { _ in
        var response = LoopbackResponse(status: 200, body: content)
        response.closesConnection = true
        return response
    }
    let port = listener.port
    let received = try await onThread {
        let client = try SlowTLSClient(port: port)
        // The handshake. Its first response proves that the listener has accepted the connection.
        _ = client.decrypt()
        _ = try client.receive(4096)
        try client.shrinkListenersBuffer()
        try client.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
        var received = client.decrypt()
        // Two TLS records of 16 KiB, each slower than the idle time, although the client reads continuously.
        for _ in 0..<40 {
            guard try client.receive(1024) else { break }
            received += client.decrypt()
            Thread.sleep(forTimeInterval: TestTime.seconds(0.1))
        }
        while try client.receive(64 << 10) { received += client.decrypt() }
        return received + client.decrypt()
    }
    let response = try #require(RawAnswer.parse(received)?.0)
    #expect(response.status == 200 && response.body.count == content.count, "\(response.head) \(response.body.count)")
}
