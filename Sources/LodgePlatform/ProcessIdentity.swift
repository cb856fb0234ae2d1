/// The identity of a running process. The system reuses process IDs, so it includes the start time.
package struct ProcessIdentity: Sendable, Equatable {
    /// The process ID.
    package let id: Int32
    /// The start time, in a unit of the system.
    package let start: UInt64

    /// Creates an identity from saved values. The process may have ended.
    package init(id: Int32, start: UInt64) {
        self.id = id
        self.start = start
    }

    /// The identity of this process, or `nil` if the system does not report it.
    package static var current: ProcessIdentity? { ProcessStatus(of: getpid())?.identity }

    /// The status of the process, or `nil` if it has ended.
    package var status: ProcessStatus? { ProcessStatus(of: id).flatMap { $0.identity == self ? $0 : nil } }
}

/// The state of a running process.
package struct ProcessStatus: Sendable, Equatable {
    package let identity: ProcessIdentity
    /// The name of its program, at most 15 bytes on Linux.
    package let name: String
    /// Whether a signal stopped it.
    package let isStopped: Bool

    #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        /// Creates the status of the process with an ID, or returns `nil` if this app cannot see it. These systems do
        /// not report start times.
        package init?(of id: Int32) {
            guard kill(id, 0) == 0 else { return nil }
            identity = ProcessIdentity(id: id, start: 0)
            name = ""
            isStopped = false
        }
    #elseif canImport(Darwin)
        /// Creates the status of the process with an ID, or returns `nil` if it does not exist.
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
        /// Creates the status of the process with an ID, or returns `nil` if it does not exist.
        package init?(of id: Int32) {
            guard case .success(let bytes) = OwnerOnlyFile.read("/proc/\(id)/stat", maximumSize: 4096) else {
                return nil
            }
            self.init(parsing: bytes, id: id)
        }

        /// Creates the status from the text of `/proc/ID/stat` (proc_pid_stat(5)).
        init?(parsing bytes: [UInt8], id: Int32) {
            // The name is in parentheses and may itself contain parentheses.
            guard let open = bytes.firstIndex(of: UInt8(ascii: "(")),
                let close = bytes.lastIndex(of: UInt8(ascii: ")")), open < close
            else { return nil }
            let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " ")).map {
                String(decoding: $0, as: UTF8.self)
            }
            // Field 3 is the state and field 22 the start time. A zombie has closed its files.
            guard fields.count > 19, let start = UInt64(fields[19]), !["Z", "X", "x"].contains(fields[0]) else {
                return nil
            }
            identity = ProcessIdentity(id: id, start: start)
            name = String(decoding: bytes[(open + 1)..<close], as: UTF8.self)
            isStopped = ["T", "t"].contains(fields[0])
        }
    #endif
}

/// Returns the seconds since boot, including sleep: the same for all processes.
package func secondsSinceBoot() -> Int64 {
    #if canImport(Darwin)
        // On Darwin, this clock continues during sleep, unlike the Linux clock of the same name.
        let clock = CLOCK_MONOTONIC
    #else
        let clock = CLOCK_BOOTTIME
    #endif
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec)
}
