import LodgePlatform
import SealedStorage

/// The name of a session in the server's list: `lodge 4711@worker-3`. It shows other workers which process holds a
/// lock.
enum SessionName {
    /// The name of this process.
    static var own: String {
        let program = ProcessIdentity.current?.status?.name ?? "oauth2-accounts"
        // The server accepts 63 bytes of printable ASCII, and replaces other characters.
        return "\(program.prefix(15)) \(getpid())@\(machine.prefix(36))"
    }

    /// The name of this machine.
    private static var machine: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return name.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// Returns the process of a session, or `nil` if the program chose another name for it.
    static func process(_ name: String) -> LockHolder? {
        guard let space = name.lastIndex(of: " ") else { return nil }
        let parts = name[name.index(after: space)...].split(separator: "@", maxSplits: 1)
        guard parts.count == 2, let process = Int32(parts[0]), process > 0 else { return nil }
        return LockHolder(
            process: process, name: String(name[..<space]),
            machine: parts[1] == machine.prefix(36) ? nil : String(parts[1]))
    }
}
