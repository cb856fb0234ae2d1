/// The state of a file at one time. An output that depends on the file is valid as long as the state remains the same.
package struct FileStamp: Sendable, Equatable {
    package enum Kind: String, Sendable {
        /// Any file: device, inode, size and the time of its last change.
        case file
        /// A database of SQLite in rollback mode: device, inode, permissions and the change counter of its header.
        ///
        /// Only a process without SQLite may read it: closing any descriptor of the file releases SQLite's locks.
        case database
    }

    /// Numbers that differ between two states. Not text: the agent compares them before each response.
    package struct State: Sendable, Equatable {
        package var device: UInt64
        package var inode: UInt64
        /// The size, or the mode of a database.
        package var first: UInt64
        /// The seconds of the last change, or the owner of a database.
        package var second: UInt64
        /// The nanoseconds of the last change, or the change counter of a database.
        package var third: UInt64

        package init(device: UInt64, inode: UInt64, first: UInt64, second: UInt64, third: UInt64) {
            (self.device, self.inode, self.first, self.second, self.third) = (device, inode, first, second, third)
        }

        package init?(_ text: String) {
            let numbers = text.split(separator: ":").compactMap { UInt64($0) }
            guard numbers.count == 5 else { return nil }
            self.init(
                device: numbers[0], inode: numbers[1], first: numbers[2], second: numbers[3], third: numbers[4])
        }

        package var text: String { "\(device):\(inode):\(first):\(second):\(third)" }
    }

    package let path: String
    package let kind: Kind
    /// `nil` if the file does not exist.
    package let state: State?

    package init(path: String, kind: Kind, state: State?) {
        self.path = path
        self.kind = kind
        self.state = state
    }

    /// Creates the stamp of a file from its current state.
    package init(reading path: String, _ kind: Kind) {
        self.init(path: path, kind: kind, state: Self.state(path, kind))
    }

    private static func state(_ path: String, _ kind: Kind) -> State? {
        guard kind == .database else {
            guard let status = SystemCalls.status(path) else { return nil }
            let time = SystemCalls.changeTime(status)
            return State(
                device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
                first: UInt64(truncatingIfNeeded: status.st_size), second: UInt64(truncatingIfNeeded: time.tv_sec),
                third: UInt64(truncatingIfNeeded: time.tv_nsec))
        }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        // The position of the counter in the header: see https://www.sqlite.org/fileformat.html section 1.3.7.
        var counter: UInt32 = 0
        guard fstat(file, &status) == 0, pread(file, &counter, 4, 24) == 4 else { return nil }
        return State(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(status.st_ino),
            first: UInt64(status.st_mode), second: UInt64(status.st_uid), third: UInt64(UInt32(bigEndian: counter)))
    }
}
