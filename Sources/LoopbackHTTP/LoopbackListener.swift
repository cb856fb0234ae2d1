/// A small HTTP/1.1 server on the loopback interface.
///
/// It receives the redirect of a sign-in in the browser (RFC 8252 section 7.3) and carries the local provider. It is
/// bound to a loopback address, so that no other machine can reach it, and answers only requests whose `Host` names that
/// address and port, so that no web page can reach it under a name of its own (DNS rebinding). It sends no CORS fields.
///
/// The sockets belong to one thread of its own, which waits in `poll`; the handler runs in a task for each request. What
/// is malformed is answered 400 and what is too large 413, 414 or 431, without asking the handler. Chunked request
/// content is answered 411.
///
/// [RFC 8252 section 8.3](https://www.rfc-editor.org/rfc/rfc8252#section-8.3),
/// [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)
package final class LoopbackListener: Sendable {
    /// The port, the one that the system chose when 0 was asked for.
    package let port: UInt16
    /// The host that was asked for.
    package let host: String
    private let mailbox: LoopbackQueue

    /// Opens the port and begins to answer.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1` or another address of 127.0.0.0/8, `::1`, or `localhost` for both families on one port.
    ///   - port: The port, or 0 for a free one.
    ///   - limits: What is accepted.
    ///   - handler: Gives the answer to a request. Its task is cancelled when the connection breaks, when
    ///     ``Limits/answerTime`` is over, and when the listener closes.
    /// - Throws: ``LoopbackError`` when the port cannot be opened.
    package init(
        host: String = "127.0.0.1", port: UInt16 = 0, limits: Limits = .init(),
        handler: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse
    ) throws(LoopbackError) {
        let mailbox = try LoopbackQueue()
        let bound = try LoopbackSocket.listen(host: host, port: port)
        let loop = LoopbackLoop(
            listening: bound.sockets, authority: LoopbackAuthority(host: host, port: bound.port), limits: limits,
            mailbox: mailbox, handler: handler)
        do throws(LoopbackError) {
            try LoopbackThread.start { loop.run() }
        } catch {
            for socket in bound.sockets { LoopbackSocket.close(socket) }
            throw error
        }
        self.host = host
        self.port = bound.port
        self.mailbox = mailbox
    }

    deinit { close() }

    /// Stops listening. The port is free when this returns.
    ///
    /// Answers that are being written are finished and handlers are cancelled, both within ``Limits/closingTime``; idle
    /// connections end at once. Calling it again does nothing.
    package func close() { mailbox.close() }

    /// Stops listening and waits until the last answer under way is written, at most ``Limits/closingTime``.
    ///
    /// For a program that ends right after: the page in the browser is complete.
    package func shutDown() async {
        mailbox.close()
        await mailbox.finished()
    }
}
