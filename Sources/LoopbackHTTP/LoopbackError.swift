import LodgePlatform

/// The reason why a listener cannot open a port on the loopback interface.
public enum LoopbackError: Error, Sendable, Equatable {
    /// Another program uses the port.
    case portTaken(UInt16)
    /// The user is not allowed to open the port. Ports below 1024 usually need a privilege.
    case portNotPermitted(UInt16)
    /// The host is not one of `127.0.0.1` (or another address of 127.0.0.0/8), `::1` and `localhost`.
    case notLoopback(host: String)
    /// This machine has no such address, for example `::1` if IPv6 is disabled.
    case addressUnavailable(host: String)
    /// HTTPS is not possible, for example without libssl.
    case tlsUnavailable(reason: String)
    /// Another error of the system, with its message.
    case system(operation: String, reason: String)
}

extension LoopbackError: CustomStringConvertible {
    /// The reason and a remedy.
    public var description: String {
        switch self {
        case .portTaken(let port):
            "port \(port) on this machine is in use by another program: close that program, or choose another port"
                + " (port 0 takes a free one)"
        case .portNotPermitted(let port):
            "port \(port) may not be opened by this user: choose a port from 1024 to 65535, or 0 for a free one"
        case .notLoopback:
            "a listener opens on this machine only: use 127.0.0.1, ::1 or localhost as the host"
        case .addressUnavailable(let host):
            "this machine has no address \(host): use "
                + (host == "::1" ? "127.0.0.1, or switch IPv6 on" : "127.0.0.1")
        case .tlsUnavailable(let reason):
            "no HTTPS on this machine: \(reason)"
        case .system(let operation, let reason):
            "no listener on this machine: \(operation): \(reason)"
        }
    }
}

extension LoopbackError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot listen on this device." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
}
