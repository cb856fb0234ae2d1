/// The certificate and key with which a ``LoopbackListener`` speaks HTTPS: TLS 1.2 and 1.3.
///
/// `@unchecked Sendable` is safe. Both properties are constants: `library` has only functions, and only `init` and
/// `deinit` change the context, when no other reference exists. `session()` only calls `SSL_new`, with which threads
/// may create sessions from one context concurrently: it changes the context's reference count under OpenSSL's own lock
/// (openssl-threads(7)).
package final class LoopbackTLS: @unchecked Sendable {
    fileprivate let library: LibSSL
    private let context: OpaquePointer

    /// Creates the context. It loads libssl.
    ///
    /// - Parameters:
    ///   - certificate: The server's certificate in DER.
    ///   - privateKey: Its private key on an elliptic curve in DER. See RFC 5915.
    /// - Throws: ``LoopbackError/tlsUnavailable(reason:)`` if libssl is missing or rejects one of them.
    package convenience init(certificate: [UInt8], privateKey: [UInt8]) throws(LoopbackError) {
        try self.init(LibSSL(), certificate: certificate, privateKey: privateKey)
    }

    init(_ library: LibSSL, certificate: [UInt8], privateKey: [UInt8]) throws(LoopbackError) {
        guard let context = library.newContext(library.serverMethod()) else {
            throw .tlsUnavailable(reason: "libssl cannot create a context")
        }
        self.library = library
        self.context = context
        _ = library.controlContext(context, LibSSL.setMinimumVersion, LibSSL.version1_2, nil)
        _ = library.controlContext(context, LibSSL.setMode, LibSSL.modes, nil)
        let isUsable =
            library.useCertificate(context, Int32(clamping: certificate.count), certificate) == 1
            && library.usePrivateKey(LibSSL.ellipticCurve, context, privateKey, privateKey.count) == 1
            && library.checkPrivateKey(context) == 1
        library.clearErrors()
        guard isUsable else { throw .tlsUnavailable(reason: "libssl rejects the certificate or its key") }
    }

    deinit { library.freeContext(context) }

    /// Creates the session of a connection; `nil` if there is not enough memory.
    func session() -> TLSSession? {
        guard let session = library.newSession(context) else { return nil }
        guard let input = library.newBuffer(library.memoryMethod()) else {
            library.freeSession(session)
            return nil
        }
        guard let output = library.newBuffer(library.memoryMethod()) else {
            // The session owns the buffer, and frees it.
            library.setBuffers(session, input, input)
            library.freeSession(session)
            return nil
        }
        // From here on, the session owns both buffers.
        library.setBuffers(session, input, output)
        library.setAcceptState(session)
        return TLSSession(tls: self, session: session, input: input, output: output)
    }
}

/// The TLS of one connection: converts bytes between the socket and HTTP. Only the listener's thread uses it.
///
/// It has no socket, because OpenSSL would write to it with `write`, which raises SIGPIPE.
final class TLSSession {
    enum State { case open, ended, failed }

    private let tls: LoopbackTLS
    private let session: OpaquePointer
    private let input: OpaquePointer
    private let buffer: OpaquePointer
    /// Encrypted bytes to send.
    private(set) var output: ArraySlice<UInt8> = []
    /// Whether the client sent bytes.
    private(set) var hasStarted = false
    private var piece = [UInt8](repeating: 0, count: 16 << 10)

    /// The maximum number of bytes of a record.
    static let recordBytes = 16 << 10
    /// The first byte of a TLS connection: the type of a handshake record.
    static let handshakeType: UInt8 = 22

    fileprivate init(tls: LoopbackTLS, session: OpaquePointer, input: OpaquePointer, output: OpaquePointer) {
        self.tls = tls
        self.session = session
        self.input = input
        buffer = output
    }

    deinit { tls.library.freeSession(session) }

    /// Decrypts received bytes. The responses of the handshake are added to ``output``.
    func decrypt(_ bytes: ArraySlice<UInt8>) -> (content: [UInt8], state: State) {
        hasStarted = true
        let library = tls.library
        let count = bytes.withUnsafeBytes { library.writeBuffer(input, $0.baseAddress, Int32(clamping: $0.count)) }
        guard Int(count) == bytes.count else { return ([], .failed) }
        var content: [UInt8] = []
        while true {
            library.clearErrors()
            let count = piece.withUnsafeMutableBytes {
                library.read(session, $0.baseAddress, Int32(clamping: $0.count))
            }
            if count > 0 {
                content.append(contentsOf: piece[..<Int(count)])
                continue
            }
            let error = library.error(session, count)
            collectOutput()
            switch error {
            case LibSSL.wantRead: return (content, .open)
            case LibSSL.zeroReturn: return (content, .ended)
            default: return (content, .failed)
            }
        }
    }

    /// Encrypts the first bytes into ``output`` and returns their number, at most a record's; 0 after an error.
    func encrypt(_ bytes: ArraySlice<UInt8>) -> Int {
        tls.library.clearErrors()
        let count = bytes.prefix(Self.recordBytes).withUnsafeBytes {
            tls.library.write(session, $0.baseAddress, Int32(clamping: $0.count))
        }
        collectOutput()
        return max(0, Int(count))
    }

    /// Adds the message to ``output`` that ends the connection.
    func end() {
        tls.library.clearErrors()
        _ = tls.library.shutDown(session)
        collectOutput()
    }

    func sent(_ count: Int) { output = output.dropFirst(count) }

    private func collectOutput() {
        while true {
            let count = piece.withUnsafeMutableBytes {
                tls.library.readBuffer(buffer, $0.baseAddress, Int32(clamping: $0.count))
            }
            guard count > 0 else { break }
            output = ArraySlice(Array(output) + piece[..<Int(count)])
        }
        tls.library.clearErrors()
    }
}
