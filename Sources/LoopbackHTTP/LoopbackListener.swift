import LodgePlatform

/// A small HTTP/1.1 server on the loopback interface, with or without TLS.
///
/// It is bound to a loopback address, so that no other machine can reach it, and accepts only requests whose `Host` is
/// that address and port, so that no web page can reach it under another name (DNS rebinding). It sends no CORS fields.
///
/// One separate thread owns the sockets and waits in `poll`; the handler runs in a task for each request. Without
/// calling the handler, the listener responds with 400 to malformed requests, with 413, 414 or 431 to large ones, and
/// with 411 to chunked content.
///
/// [RFC 8252 section 8.3](https://www.rfc-editor.org/rfc/rfc8252#section-8.3),
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)
package final class LoopbackListener: Sendable {
    /// The port. If the parameter was 0, the system chose it.
    package let port: UInt16
    package let host: String
    private let queue: LoopbackQueue

    /// Creates a listener, which opens the port and starts to respond.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1` or another address of 127.0.0.0/8, `::1`, or `localhost` for both families on one port.
    ///   - port: The port, or 0 for a free one.
    ///   - publicPort: The port in URLs if another program of this machine passes connections on; `nil` for `port`.
    ///   - tls: The certificate and key for HTTPS; `nil` for HTTP.
    ///   - limits: The limits of requests and connections.
    ///   - handler: Returns the response to a request. Its task is cancelled if the connection breaks, if
    ///     ``Limits/responseTime`` is over, and if the listener closes.
    /// - Throws: ``LoopbackError`` if the port cannot be opened.
    package init(
        host: String = "127.0.0.1", port: UInt16 = 0, publicPort: UInt16? = nil, tls: LoopbackTLS? = nil,
        limits: Limits = .init(),
        handler: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws(LoopbackError) {
        let queue = try LoopbackQueue()
        let bound = try LoopbackSocket.listen(host: host, port: port)
        let loop = LoopbackLoop(
            listening: bound.sockets,
            authority: LoopbackAuthority(host: host, port: publicPort ?? bound.port, isSecure: tls != nil), tls: tls,
            limits: limits, queue: queue, handler: handler)
        let code = DetachedThread.start(stackSize: 512 << 10) { loop.run() }
        guard code == 0 else {
            bound.sockets.forEach(FileDescriptor.close)
            throw .system(operation: "starting a thread", reason: systemMessage(code))
        }
        self.host = host
        self.port = bound.port
        self.queue = queue
    }

    deinit { close() }

    /// Stops listening. The port is free when this returns.
    ///
    /// Within ``Limits/closingTime``, finishes the responses that it is sending, and cancels handlers. Idle
    /// connections end immediately. Another call has no effect.
    package func close() { queue.close() }

    /// Stops listening and waits at most ``Limits/closingTime`` until the last response is sent.
    ///
    /// For a program that exits afterwards: the page in the browser is complete.
    package func shutDown() async {
        queue.close()
        await queue.finished()
    }
}
