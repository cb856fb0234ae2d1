/// Identifies a running process. The system reuses process IDs, so the start of the process is a part of its identity.
package struct ProcessIdentity: Sendable, Equatable {
    /// The process ID.
    package let id: Int32
    /// The time of the start, in a unit of the system.
    package let start: UInt64

    /// Creates an identity that was saved. The process may have ended.
    package init(id: Int32, start: UInt64) {
        self.id = id
        self.start = start
    }

    /// Returns the identity of this process, or `nil` if the system does not tell it.
    package static var current: ProcessIdentity? { ProcessStatus(of: getpid())?.identity }

    /// Returns the status of the process, or `nil` if it has ended.
    package var status: ProcessStatus? { ProcessStatus(of: id).flatMap { $0.identity == self ? $0 : nil } }
}

/// The state of a running process.
package struct ProcessStatus: Sendable, Equatable {
    package let identity: ProcessIdentity
    /// The name of its program, at most 15 bytes on Linux.
    package let name: String
    /// Whether a signal stopped it.
    package let isStopped: Bool

    #if canImport(Darwin)
        /// Creates the status of the process with an ID, or `nil` if no process has it.
        package init?(of id: Int32) {
            var found = proc_bsdinfo()
            let size = Int32(MemoryLayout<proc_bsdinfo>.size)
            guard proc_pidinfo(id, PROC_PIDTBSDINFO, 0, &found, size) == size, found.pbi_status != UInt32(SZOMB) else {
                return nil
            }
            identity = ProcessIdentity(
                id: id, start: UInt64(found.pbi_start_tvsec) &* 1_000_000 &+ UInt64(found.pbi_start_tvusec))
            name = withUnsafeBytes(of: found.pbi_comm) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            isStopped = found.pbi_status == UInt32(SSTOP)
        }
    #else
        /// Creates the status of the process with an ID, or `nil` if no process has it.
        package init?(of id: Int32) {
            guard case .success(let bytes) = OwnerOnlyFile.read("/proc/\(id)/stat", maximumSize: 4096) else {
                return nil
            }
            self.init(parsing: bytes, id: id)
        }

        /// Creates the status from the text of `/proc/ID/stat` (proc_pid_stat(5)).
        init?(parsing bytes: [UInt8], id: Int32) {
            // The name is in parentheses, and may contain some itself.
            guard let open = bytes.firstIndex(of: UInt8(ascii: "(")),
                let close = bytes.lastIndex(of: UInt8(ascii: ")")), open < close
            else { return nil }
            let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " ")).map {
                String(decoding: $0, as: UTF8.self)
            }
            // The state is the 3rd field, and the start the 22nd. A zombie has closed its files.
            guard fields.count > 19, let start = UInt64(fields[19]), !["Z", "X", "x"].contains(fields[0]) else {
                return nil
            }
            identity = ProcessIdentity(id: id, start: start)
            name = String(decoding: bytes[(open + 1)..<close], as: UTF8.self)
            isStopped = ["T", "t"].contains(fields[0])
        }
    #endif
}

/// Returns the seconds since the start of the machine, sleep included: the same for all processes.
package func secondsSinceBoot() -> Int64 {
    #if canImport(Darwin)
        // It continues while the machine sleeps, unlike Linux's clock of this name.
        let clock = CLOCK_MONOTONIC
    #else
        let clock = CLOCK_BOOTTIME
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec)
}
