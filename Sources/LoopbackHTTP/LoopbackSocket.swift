import Platform

/// The system's sockets, in the forms that Linux (glibc and musl) and Darwin share.
///
/// Every socket is non-blocking, is not inherited by child processes and never raises SIGPIPE.
enum LoopbackSocket {
    #if canImport(Glibc)
        private static let stream = Int32(SOCK_STREAM.rawValue)
    #else
        private static let stream = SOCK_STREAM
    #endif

    #if canImport(Darwin)
        private static let sendFlags: Int32 = 0
    #else
        private static let sendFlags = Int32(truncatingIfNeeded: numericCast(MSG_NOSIGNAL) as Int)
    #endif

    /// The result of a read or a write.
    enum Transfer: Equatable {
        case bytes(Int)
        case wouldBlock
        case ended
    }

    // MARK: Opening

    /// Opens listening sockets: two for `localhost`, one for an address.
    static func listen(host: String, port: UInt16) throws(LoopbackError) -> (sockets: [Int32], port: UInt16) {
        switch host.lowercased() {
        case "localhost": return try listenOnBoth(port: port)
        case "::1", "[::1]":
            let socket = try open(family: .six, port: port)
            return ([socket.descriptor], socket.port)
        default:
            guard let address = loopbackAddress(host) else { throw .notLoopback(host: host) }
            let socket = try open(family: .four(address), port: port)
            return ([socket.descriptor], socket.port)
        }
    }

    private static func listenOnBoth(port: UInt16) throws(LoopbackError) -> (sockets: [Int32], port: UInt16) {
        let localhost = Family.four([127, 0, 0, 1])
        var tries = 16
        while true {
            tries -= 1
            let four: (descriptor: Int32, port: UInt16)
            do throws(LoopbackError) {
                four = try open(family: localhost, port: port)
            } catch {
                guard case .addressUnavailable = error else { throw error }
                let six = try open(family: .six, port: port)
                return ([six.descriptor], six.port)
            }
            do throws(LoopbackError) {
                let six = try open(family: .six, port: four.port)
                return ([four.descriptor, six.descriptor], four.port)
            } catch {
                if case .addressUnavailable = error { return ([four.descriptor], four.port) }
                close(four.descriptor)
                // Another program has this port in the other family. If the port is free to choose, try another.
                // Otherwise the browser could send the code to that program.
                guard case .portTaken = error, port == 0, tries > 0 else { throw error }
            }
        }
    }

    private enum Family {
        case four([UInt8])
        case six

        var host: String {
            switch self {
            case .four(let bytes): bytes.map { String($0) }.joined(separator: ".")
            case .six: "::1"
            }
        }
    }

    /// Returns the four bytes of an address of 127.0.0.0/8.
    private static func loopbackAddress(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in
            part.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && (part == "0" || !part.hasPrefix("0"))
                ? UInt8(part) : nil
        }
        return parts.count == 4 && bytes.count == 4 && bytes[0] == 127 ? bytes : nil
    }

    private static func open(family: Family, port: UInt16) throws(LoopbackError) -> (descriptor: Int32, port: UInt16) {
        let domain =
            switch family {
            case .four: AF_INET
            case .six: AF_INET6
            }
        let descriptor = socket(domain, stream, 0)
        guard descriptor >= 0 else {
            let code = errno
            if code == EAFNOSUPPORT { throw .addressUnavailable(host: family.host) }
            throw .system(operation: "opening a socket", reason: message(for: code))
        }
        prepare(descriptor)
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
        if case .six = family { setOption(descriptor, numericCast(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard bind(descriptor, family, port) == 0, system_listen(descriptor, 128) == 0 else {
            let code = errno
            close(descriptor)
            switch code {
            case EADDRINUSE: throw .portTaken(port)
            case EACCES, EPERM: throw .portNotPermitted(port)
            case EADDRNOTAVAIL: throw .addressUnavailable(host: family.host)
            default: throw .system(operation: "opening port \(port)", reason: message(for: code))
            }
        }
        guard let chosen = boundPort(descriptor) else {
            let code = errno
            close(descriptor)
            throw .system(operation: "reading the port", reason: message(for: code))
        }
        return (descriptor, chosen)
    }

    private static func bind(_ descriptor: Int32, _ family: Family, _ port: UInt16) -> Int32 {
        switch family {
        case .four(let bytes):
            var address = sockaddr_in()
            #if canImport(Darwin)
                address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
            #endif
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }.bigEndian
            return system_bind(descriptor, &address)
        case .six:
            var address = sockaddr_in6()
            #if canImport(Darwin)
                address.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
            #endif
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            // ::1, fifteen zero bytes and a one.
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
            return system_bind(descriptor, &address)
        }
    }

    private static func system_bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return -1 }
            let length = socklen_t(bytes.count)
            #if canImport(Darwin)
                return Darwin.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), length)
            #elseif canImport(Musl)
                return Musl.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), length)
            #else
                return Glibc.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), length)
            #endif
        }
    }

    private static func system_listen(_ descriptor: Int32, _ queue: Int32) -> Int32 {
        #if canImport(Darwin)
            Darwin.listen(descriptor, queue)
        #elseif canImport(Musl)
            Musl.listen(descriptor, queue)
        #else
            Glibc.listen(descriptor, queue)
        #endif
    }

    private static func boundPort(_ descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.baseAddress,
                getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // The port has the same position in both families: after two bytes, in network order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// Returns a pair of connected sockets.
    static func pair() throws(LoopbackError) -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, stream, 0, &ends) == 0 else {
            throw .system(operation: "opening a socket pair", reason: message(for: errno))
        }
        prepare(ends[0])
        prepare(ends[1])
        return (ends[0], ends[1])
    }

    /// Returns a connection that waits, or `nil` with the reason in `errno`.
    static func accept(_ descriptor: Int32) -> Int32? {
        #if canImport(Darwin)
            let accepted = Darwin.accept(descriptor, nil, nil)
        #elseif canImport(Musl)
            let accepted = Musl.accept(descriptor, nil, nil)
        #else
            let accepted = Glibc.accept(descriptor, nil, nil)
        #endif
        guard accepted >= 0 else { return nil }
        prepare(accepted)
        setOption(accepted, numericCast(IPPROTO_TCP), TCP_NODELAY)
        return accepted
    }

    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        #if canImport(Darwin)
            setOption(descriptor, SOL_SOCKET, SO_NOSIGPIPE)
        #endif
    }

    private static func setOption(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
        var on: Int32 = 1
        setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Use

    static func close(_ descriptor: Int32) {
        #if canImport(Darwin)
            _ = Darwin.close(descriptor)
        #elseif canImport(Musl)
            _ = Musl.close(descriptor)
        #else
            _ = Glibc.close(descriptor)
        #endif
    }

    /// Stops listening, also for child processes that hold the socket.
    static func endListening(_ descriptor: Int32) { shutdown(descriptor, numericCast(SHUT_RDWR)) }

    /// Closes the sending side.
    static func endSending(_ descriptor: Int32) { shutdown(descriptor, numericCast(SHUT_WR)) }

    @discardableResult
    static func send(_ descriptor: Int32, _ bytes: some Collection<UInt8>) -> Transfer {
        let sent: Int? = bytes.withContiguousStorageIfAvailable { buffer in
            #if canImport(Darwin)
                Darwin.send(descriptor, buffer.baseAddress, buffer.count, sendFlags)
            #elseif canImport(Musl)
                Musl.send(descriptor, buffer.baseAddress, buffer.count, sendFlags)
            #else
                Glibc.send(descriptor, buffer.baseAddress, buffer.count, sendFlags)
            #endif
        }
        guard let sent else { return send(descriptor, Array(bytes)) }
        return sent >= 0 ? .bytes(sent) : failure()
    }

    /// Reads the available bytes, up to the buffer's size.
    static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
        let received = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        if received > 0 { return .bytes(received) }
        return received == 0 ? .ended : failure()
    }

    private static func failure() -> Transfer {
        let code = errno
        return code == EAGAIN || code == EWOULDBLOCK || code == EINTR ? .wouldBlock : .ended
    }

    /// Returns the system's message for an error number.
    static func message(for code: Int32) -> String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}
