import Platform
import JOSE

/// A key that whoever starts the program hands over in a file descriptor: from a service manager, a vault, a script.
///
/// The descriptor has the 32 bytes, or their 43 characters of base64url or 44 of base64 with a line end or without. It is read
/// once, to its end, and not handed on to other programs.
public actor FileDescriptorKey: KeyCustody {
    /// The number of the descriptor; nil when none was named.
    public nonisolated let descriptor: Int32?
    private let thread = SerialThread()
    private var read: SealingKey?
    /// How long the one who writes may let us wait for the next byte, in milliseconds.
    private let patience: Int32

    /// The descriptor is read on a thread of its own.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The key in this descriptor.
    ///
    /// - Parameter patience: how long to wait for the next byte.
    public init(_ descriptor: Int32?, patience: Duration = .seconds(10)) {
        self.descriptor = descriptor
        let milliseconds = patience / .milliseconds(1)
        self.patience = Int32(max(0, min(milliseconds, 3_600_000)))
    }

    /// "file descriptor" and its number.
    public nonisolated var location: String {
        descriptor.map { "the key in file descriptor \($0)" } ?? "the key in a file descriptor"
    }

    /// ``KeyCustodyChoice/descriptor(_:)``
    public nonisolated var choice: KeyCustodyChoice? { .descriptor(descriptor) }

    /// The key that is handed over; never nil.
    public func key() throws -> SealingKey? {
        if let read { return read }
        guard let descriptor else {
            throw fault(
                "no descriptor is named", "\(KeyRemedy.nameDescriptor), and hand the key over with 3< FILE")
        }
        var bytes = try contents(descriptor)
        defer { for index in bytes.indices { bytes[index] = 0 } }
        guard let key = Self.key(in: bytes) else {
            throw fault(
                bytes.isEmpty ? "it is empty, or was read already" : "it has \(bytes.count) bytes that are no key",
                "hand over the 32 bytes of the key, or their base64")
        }
        read = key
        return key
    }

    /// The key that is handed over: a new store takes it.
    public func create() throws -> SealingKey {
        guard let key = try key() else { throw fault("there is no key", "hand over the 32 bytes of the key") }
        return key
    }

    /// Checks that this very key is handed over: nothing can be written to whoever starts the program.
    public func keep(_ key: SealingKey) throws {
        guard try !equalInConstantTime(create().bytes, key.bytes) else { return }
        throw fault("it is not the key of this store", "hand over a copy of the store's key, and try again")
    }

    /// The key in these bytes; nil when they are none.
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
            throw fault("it is not open", "hand the key over when the program is started: \(descriptor)< FILE")
        }
        // What this process has opened itself since, such as the kernel's queues, is nothing that was handed over.
        var status = stat()
        guard fstat(descriptor, &status) == 0, [S_IFREG, S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.st_mode & S_IFMT)
        else {
            throw fault(
                "it is neither a file nor a pipe", "hand the key over when the program is started: \(descriptor)< FILE")
        }
        _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        defer { for index in chunk.indices { chunk[index] = 0 } }
        // More than a key can have is no key, whatever follows.
        while bytes.count <= chunk.count {
            let count: Int?
            do throws(SystemError) {
                count = try FileDescriptor.read(descriptor, into: &chunk, waiting: patience)
            } catch {
                throw fault("it cannot be read: \(error.explanation)", "open it for reading")
            }
            guard let count else {
                throw fault("nothing came, and it is still open", "close the descriptor after the key was written")
            }
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return bytes
    }

    private func fault(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }
}
