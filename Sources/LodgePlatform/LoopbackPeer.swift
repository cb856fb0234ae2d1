/// The process at the other end of a TCP connection of this machine.
package enum LoopbackPeer {
    /// The owner of the other end.
    package enum Owner: Equatable {
        /// The user with this ID.
        case user(uid_t)
        /// The other end is closed, so that no process can read a response.
        case closed
        /// The owner is unknown: the system is not Linux, or the process has another network namespace.
        case unknown
    }

    /// Returns whether the other end belongs to another ordinary user, or is closed.
    ///
    /// Root and unknown owners are accepted: programs that forward connections from another machine or system, such as ssh and
    /// WSL.
    package static func isForeign(_ descriptor: Int32, user: uid_t = geteuid()) -> Bool {
        switch owner(of: descriptor) {
        case .user(let id): id != 0 && id != user
        case .closed: true
        case .unknown: false
        }
    }

    /// Returns the owner of the other end of an accepted connection.
    package static func owner(of descriptor: Int32) -> Owner {
        guard let here = StreamSocket.endpoint(of: descriptor, getsockname),
            let there = StreamSocket.endpoint(of: descriptor, getpeername)
        else { return .closed }
        var tables: [[UInt8]] = []
        for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
            // A table has about 150 bytes for each connection.
            guard case .success(let bytes) = OwnerOnlyFile.read(path, maximumSize: 64 << 20) else { continue }
            tables.append(bytes)
        }
        return owner(of: there, connectedTo: here, tables: tables)
    }

    /// Returns the owner of the socket `there` in the system's tables, which have a heading and one line for each
    /// socket.
    static func owner(of there: StreamSocket.Endpoint, connectedTo here: StreamSocket.Endpoint, tables: [[UInt8]])
        -> Owner
    {
        var knowsThisEnd = false
        for table in tables {
            for line in table.split(separator: UInt8(ascii: "\n")).dropFirst() {
                // sl local_address rem_address st queues timer retransmissions uid timeout inode
                let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 10)
                guard fields.count > 9 else { continue }
                if here.matches(fields[1]), there.matches(fields[2]) { knowsThisEnd = true }
                guard there.matches(fields[1]), here.matches(fields[2]) else { continue }
                // A socket that its process has closed has no inode, and its owner is unknown.
                guard let id = number(fields[7]), number(fields[9]) != 0 else { return .closed }
                return .user(id)
            }
        }
        return knowsThisEnd || tables.isEmpty ? .unknown : .closed
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32? {
        UInt32(String(decoding: digits, as: UTF8.self))
    }
}

extension StreamSocket {
    /// An address and a port in the format of `/proc/net/tcp` and `/proc/net/tcp6`.
    struct Endpoint: Equatable {
        private let forms: [[UInt8]]

        /// Creates the endpoint of an IPv4 address of 4 bytes or an IPv6 address of 16.
        init(address: [UInt8], port: UInt16) {
            // Words of 4 bytes, each in the byte order of the machine.
            func words(_ bytes: [UInt8]) -> String {
                stride(from: 0, to: bytes.count, by: 4).map { start in
                    let word = bytes[start..<min(start + 4, bytes.count)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                    return Self.hexadecimal(UInt64(UInt32(bigEndian: word)), digits: 8)
                }.joined()
            }
            let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
            var addresses = [address]
            // An IPv4 connection can use a socket of either family.
            if address.count == 4 { addresses.append(mapped + address) }
            if address.count == 16, address.starts(with: mapped) { addresses.append(Array(address.suffix(4))) }
            forms = addresses.map { Array("\(words($0)):\(Self.hexadecimal(UInt64(port), digits: 4))".utf8) }
        }

        func matches(_ field: ArraySlice<UInt8>) -> Bool { forms.contains { field.elementsEqual($0) } }

        private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
            let text = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: max(0, digits - text.count)) + text
        }
    }

    /// Returns the endpoint from `getsockname` or `getpeername`, or `nil` if the socket is not connected.
    static func endpoint(
        of descriptor: Int32,
        _ read: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> Endpoint? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.baseAddress,
                read(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length) == 0
            else { return nil }
            // After the family: the port in network order, then the address; for IPv6, four bytes of flow information
            // come between.
            let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
            let isIPv6 = Int(length) > MemoryLayout<sockaddr_in>.size
            return Endpoint(address: Array(isIPv6 ? bytes[8..<24] : bytes[4..<8]), port: port)
        }
    }
}
