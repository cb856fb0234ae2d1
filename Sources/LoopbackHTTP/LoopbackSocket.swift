import LodgePlatform

/// The sockets of a listener.
enum LoopbackSocket {
    /// Opens listening sockets: two for `localhost`, one for an address.
    static func listen(host: String, port: UInt16) throws(LoopbackError) -> (sockets: [Int32], port: UInt16) {
        switch host.lowercased() {
        case "localhost": return try listenOnBoth(port: port)
        case "::1", "[::1]":
            let socket = try open(.ipv6Loopback, port: port)
            return ([socket.descriptor], socket.port)
        default:
            guard let address = loopbackAddress(host) else { throw .notLoopback(host: host) }
            let socket = try open(.ipv4(address), port: port)
            return ([socket.descriptor], socket.port)
        }
    }

    private static func listenOnBoth(port: UInt16) throws(LoopbackError) -> (sockets: [Int32], port: UInt16) {
        var tries = 16
        while true {
            tries -= 1
            let four: (descriptor: Int32, port: UInt16)
            do throws(LoopbackError) {
                four = try open(.ipv4([127, 0, 0, 1]), port: port)
            } catch {
                guard case .addressUnavailable = error else { throw error }
                let six = try open(.ipv6Loopback, port: port)
                return ([six.descriptor], six.port)
            }
            do throws(LoopbackError) {
                let six = try open(.ipv6Loopback, port: four.port)
                return ([four.descriptor, six.descriptor], four.port)
            } catch {
                if case .addressUnavailable = error { return ([four.descriptor], four.port) }
                FileDescriptor.close(four.descriptor)
                // Another program has this port in the other family. If the port is free to choose, try another.
                // Otherwise the browser could send the code to that program.
                guard case .portTaken = error, port == 0, tries > 0 else { throw error }
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

    private static func open(
        _ address: StreamSocket.Address, port: UInt16
    ) throws(LoopbackError) -> (descriptor: Int32, port: UInt16) {
        let host =
            switch address {
            case .ipv4(let bytes): bytes.map { String($0) }.joined(separator: ".")
            case .ipv6Loopback: "::1"
            }
        guard let descriptor = StreamSocket.open(for: address) else {
            if errno == EAFNOSUPPORT { throw .addressUnavailable(host: host) }
            throw .system(operation: "opening a socket", reason: systemMessage())
        }
        let failure: LoopbackError
        if StreamSocket.startListening(descriptor, on: address, port: port) {
            if let chosen = StreamSocket.port(of: descriptor) { return (descriptor, chosen) }
            failure = .system(operation: "reading the port", reason: systemMessage())
        } else {
            failure =
                switch errno {
                case EADDRINUSE: .portTaken(port)
                case EACCES, EPERM: .portNotPermitted(port)
                case EADDRNOTAVAIL: .addressUnavailable(host: host)
                default: .system(operation: "opening port \(port)", reason: systemMessage())
                }
        }
        FileDescriptor.close(descriptor)
        throw failure
    }
}
