import LodgePlatform
import JOSE

/// A key that the parent process passes in a file descriptor, for example a service manager, a vault or a script.
///
/// The descriptor contains the 32 bytes of the key, or their 43 characters of base64url or 44 of base64, optionally
/// with a line end. It is read once, to its end, and not passed to other programs.
package actor FileDescriptorKey: KeyCustody {
    /// The number of the descriptor, or `nil` if it is missing.
    package nonisolated let descriptor: Int32?
    private let thread = SerialThread()
    private var cachedKey: SealingKey?
    /// The maximum wait for the next byte, in milliseconds.
    private let patience: Int32

    /// The executor of a separate thread, because reading may block.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates access to the key in a descriptor.
    ///
    /// - Parameter patience: The maximum wait for the next byte. The default is ten seconds.
    package init(_ descriptor: Int32?, patience: Duration = .seconds(10)) {
        self.descriptor = descriptor
        let milliseconds = patience / .milliseconds(1)
        self.patience = Int32(max(0, min(milliseconds, 3_600_000)))
    }

    /// The text "the key in file descriptor" with the number.
    package nonisolated var location: String {
        descriptor.map { "the key in file descriptor \($0)" } ?? "the key in a file descriptor"
    }

    /// The choice ``KeyCustodyChoice/descriptor(_:)``.
    package nonisolated var choice: KeyCustodyChoice? { .descriptor(descriptor) }

    /// Returns the key in the descriptor. Never returns `nil`.
    package func key() throws -> SealingKey? {
        if let cachedKey { return cachedKey }
        guard let descriptor else {
            throw error(
                "no descriptor is named", "\(KeyRemedy.nameDescriptor), and pass the key with 3< FILE")
        }
        var bytes = try contents(descriptor)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        guard let key = Self.key(in: bytes) else {
            throw error(
                bytes.isEmpty ? "it is empty, or was read already" : "it has \(bytes.count) bytes that are not a key",
                "pass the 32 bytes of the key, or their base64")
        }
        cachedKey = key
        return key
    }

    /// Returns the key in the descriptor for a new store.
    package func create() throws -> SealingKey {
        guard let key = try key() else { throw error("there is no key", "pass the 32 bytes of the key") }
        return key
    }

    /// Checks that the descriptor contains this key. A descriptor cannot store another key.
    package func save(_ key: SealingKey) async throws {
        guard try !equalInConstantTime(create().bytes, key.bytes) else { return }
        throw error("it is not the key of this store", "pass a copy of the store's key")
    }

    /// Returns the key encoded in these bytes, or `nil` if they are not a key.
    static func key(in bytes: [UInt8]) -> SealingKey? {
        if bytes.count == SealingKey.byteCount { return try? SealingKey(bytes) }
        var text = bytes[...]
        if text.last == UInt8(ascii: "\n") { text.removeLast() }
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        guard text.count == 43 || (text.count == 44 && text.last == UInt8(ascii: "=")) else { return nil }
        let letters = text.prefix(43).map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        guard let decoded = Base64URL.decode(String(decoding: letters, as: UTF8.self)) else { return nil }
        return try? SealingKey(decoded)
    }

    private func contents(_ descriptor: Int32) throws -> [UInt8] {
        let flags = fcntl(descriptor, F_GETFD)
        guard flags >= 0 else {
            throw error("it is not open", "pass the key when the program starts: \(descriptor)< FILE")
        }
        // The number may belong to a descriptor that this process opened itself, such as a kernel queue.
        var status = stat()
        guard fstat(descriptor, &status) == 0, [S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.st_mode & S_IFMT)
        else {
            throw error(
                "it is neither a file nor a pipe", "pass the key when the program starts: \(descriptor)< FILE")
        }
        _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        defer { for index in chunk.indices { chunk[index] = 0 } }
        // Longer input is not a key.
        while bytes.count <= chunk.count {
            let count: Int?
            do throws(SystemError) {
                count = try FileDescriptor.read(descriptor, into: &chunk, waiting: patience)
            } catch {
                throw self.error("it cannot be read: \(error.explanation)", "open it for reading")
            }
            guard let count else {
                throw self.error("it is open, but contains no key", "close the descriptor after you write the key")
            }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
    }
}
