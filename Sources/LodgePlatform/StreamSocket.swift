/// Stream sockets with the functions shared by Linux (glibc and musl) and Darwin.
///
/// Every socket is nonblocking, is not inherited by child processes and never raises SIGPIPE. After an error, the
/// reason is in `errno`.
package enum StreamSocket {
    #if canImport(Glibc)
        private static let type = Int32(SOCK_STREAM.rawValue)
    #else
        private static let type = SOCK_STREAM
    #endif

    /// An address of this machine.
    package enum Address {
        /// Four bytes.
        case ipv4([UInt8])
        /// `::1`
        case ipv6Loopback
    }

    /// The result of a read or a write.
    package enum Transfer: Equatable {
        case bytes(Int)
        case wouldBlock
        case ended
    }

    // MARK: Opening

    /// Opens a socket for connections to an address of this kind.
    package static func open(for address: Address) -> Int32? {
        let domain = if case .ipv6Loopback = address { AF_INET6 } else { AF_INET }
        let descriptor = socket(domain, type, 0)
        guard descriptor >= 0 else { return nil }
        prepare(descriptor)
        setOption(descriptor, SOL_SOCKET, SO_REUSEADDR)
        if domain == AF_INET6 { setOption(descriptor, numericCast(IPPROTO_IPV6), IPV6_V6ONLY) }
        return descriptor
    }

    /// Listens on an address and a port, or on a free port if the port is 0. Returns whether it succeeded.
    package static func startListening(_ descriptor: Int32, on address: Address, port: UInt16) -> Bool {
        let status: Int32
        switch address {
        case .ipv4(let bytes):
            var address = sockaddr_in()
            #if canImport(Darwin)
                address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
            #endif
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }.bigEndian
            status = assignAddress(descriptor, &address)
        case .ipv6Loopback:
            var address = sockaddr_in6()
            #if canImport(Darwin)
                address.sin6_len = UInt8(MemoryLayout<sockaddr_in6>.size)
            #endif
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            // ::1, fifteen zero bytes and a one.
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
            status = assignAddress(descriptor, &address)
        }
        return status == 0 && listen(descriptor, 128) == 0
    }

    private static func assignAddress<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
        withUnsafeMutableBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return -1 }
            return bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
        }
    }

    /// Returns the port of a listening socket.
    package static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.baseAddress,
                getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // Both families have the port at the same position: after two bytes, in network order.
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
    }

    /// Returns a pair of connected sockets.
    package static func pair() -> (Int32, Int32)? {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        prepare(ends[0])
        prepare(ends[1])
        return (ends[0], ends[1])
    }

    /// Accepts a pending connection.
    package static func acceptConnection(_ descriptor: Int32) -> Int32? {
        let accepted = accept(descriptor, nil, nil)
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

    /// Stops listening, even if child processes hold the socket.
    package static func endListening(_ descriptor: Int32) { shutdown(descriptor, numericCast(SHUT_RDWR)) }

    /// Closes the sending side.
    package static func endSending(_ descriptor: Int32) { shutdown(descriptor, numericCast(SHUT_WR)) }

    /// Sends as many bytes as the system accepts.
    @discardableResult
    package static func transmit(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Transfer {
        #if canImport(Darwin)
            let flags: Int32 = 0
        #else
            let flags = Int32(truncatingIfNeeded: numericCast(MSG_NOSIGNAL) as Int)
        #endif
        return transfer(bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) }, isEnd: false)
    }

    /// Reads the available bytes, up to the size of the buffer.
    package static func receive(_ descriptor: Int32, into buffer: inout [UInt8]) -> Transfer {
        transfer(buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }, isEnd: true)
    }

    private static func transfer(_ count: Int, isEnd: Bool) -> Transfer {
        if count > 0 || (count == 0 && !isEnd) { return .bytes(count) }
        let code = count == 0 ? 0 : errno
        return code == EAGAIN || code == EWOULDBLOCK || code == EINTR ? .wouldBlock : .ended
    }
}
