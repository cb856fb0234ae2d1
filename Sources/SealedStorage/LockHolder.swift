import LodgePlatform

/// The process that holds a lock, for messages.
package struct LockHolder: Sendable, Equatable {
    /// The process ID.
    package let process: Int32
    /// The name of its program.
    package let name: String
    /// Whether a signal stopped it.
    package let isStopped: Bool
    /// The number of seconds since it acquired the lock, if known.
    package let seconds: Int64?
    /// The name of its machine, or `nil` for this one.
    package let machine: String?

    package init(process: Int32, name: String, isStopped: Bool = false, seconds: Int64? = nil, machine: String? = nil) {
        self.process = process
        self.name = name
        self.isStopped = isStopped
        self.seconds = seconds
        self.machine = machine
    }

    /// Returns the process and its state, such as "process 1234 (lodge) has held the lock for 3 s".
    ///
    /// - Parameter lock: A phrase for the lock.
    package func holds(_ lock: String) -> String {
        let place = machine.map { " on \($0.visible)" } ?? ""
        return "process \(process) (\(name.visible)\(isStopped ? ", stopped" : ""))\(place) "
            + (seconds.map { "has held \(lock) for \($0) s" } ?? "holds \(lock)")
    }

    /// The command that continues or ends it. After SIGTERM, lodge completes and saves a sent token request.
    package var remedy: Hint {
        if isStopped { return "wait for it, or let it continue: kill -CONT \(process)" }
        return "wait for it, or end it\(machine == nil ? "" : " there"): kill \(process)"
    }
}

// The lock file has a fixed number of entries. An entry contains the byte of a lock and the process that holds it, as
// text of a fixed length. Two locks can have the same entry; then the process of one of them is unknown.
//
// An entry is written after its lock is acquired and removed before it is released. If the holder was killed, the entry
// remains, but its process does not exist any more: its ID and start time identify it. So every valid entry names a
// holder, and only the kernel decides who holds the lock.
extension LockHolder {
    private static let entryCount: off_t = 1024
    private static let entrySize = 96

    private static func offset(of byte: off_t) -> off_t { byte % entryCount * off_t(entrySize) }

    /// Saves this process as the holder. If the disk is full, it remains unknown.
    static func save(byte: off_t, in file: Int32) {
        guard let process = ProcessIdentity.current else { return }
        write("\(byte) \(process.id) \(process.start) \(secondsSinceBoot())", byte, file)
    }

    /// Removes the entry of this process.
    static func remove(byte: off_t, from file: Int32) {
        guard let entry = entry(byte, file), entry.process.id == getpid() else { return }
        write("", byte, file)
    }

    /// Returns the holder of a locked byte, or `nil` if it is unknown.
    static func read(byte: off_t, in file: Int32) -> LockHolder? {
        guard let entry = entry(byte, file), let status = entry.process.status else { return nil }
        return LockHolder(
            process: status.identity.id, name: status.name, isStopped: status.isStopped,
            seconds: max(0, secondsSinceBoot() - entry.since))
    }

    private static func write(_ text: String, _ byte: off_t, _ file: Int32) {
        var bytes = Array(text.utf8)
        bytes += [UInt8](repeating: 0x20, count: max(0, entrySize - 1 - bytes.count)) + [0x0A]
        _ = pwrite(file, bytes, entrySize, offset(of: byte))
    }

    /// Returns the entry of a byte, unless it is empty, damaged, or the entry of another lock.
    private static func entry(_ byte: off_t, _ file: Int32) -> (process: ProcessIdentity, since: Int64)? {
        var bytes = [UInt8](repeating: 0, count: entrySize)
        guard pread(file, &bytes, entrySize, offset(of: byte)) == entrySize else { return nil }
        let words = String(decoding: bytes.dropLast(), as: UTF8.self).split(separator: " ")
        guard words.count == 4, off_t(words[0]) == byte, let id = Int32(words[1]), let start = UInt64(words[2]),
            let since = Int64(words[3])
        else { return nil }
        return (ProcessIdentity(id: id, start: start), since)
    }
}

extension StorageError {
    /// Returns the error of a lock that another process holds.
    package static func held(by holder: LockHolder?, for timeout: Duration, location: String) -> StorageError {
        guard let holder else {
            return StorageError(
                .busy, location: location, reason: "another process has held a lock for \(timeout)",
                hint: "try again; if the lock remains, end the process that uses the store")
        }
        var error = StorageError(
            .busy, location: location, reason: holder.holds("a lock"), hint: holder.remedy)
        error.lockHolder = holder
        return error
    }
}
