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

    package let path: String
    package let kind: Kind
    /// The state as text; empty if the file does not exist.
    package let state: String

    package init(path: String, kind: Kind, state: String) {
        (self.path, self.kind, self.state) = (path, kind, state)
    }

    /// Creates the stamp of a file from its current state.
    package init(reading path: String, _ kind: Kind) {
        self.init(path: path, kind: kind, state: Self.state(path, kind))
    }

    private static func state(_ path: String, _ kind: Kind) -> String {
        guard kind == .database else {
            guard let status = SystemCalls.status(path) else { return "" }
            return "\(status.st_dev):\(status.st_ino):\(status.st_size):\(SystemCalls.changeTime(status))"
        }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var status = stat()
        // The position of the counter in the header: see https://www.sqlite.org/fileformat.html section 1.3.7.
        var counter: UInt32 = 0
        guard fstat(file, &status) == 0, pread(file, &counter, 4, 24) == 4 else { return "" }
        return "\(status.st_dev):\(status.st_ino):\(status.st_mode):\(status.st_uid):\(UInt32(bigEndian: counter))"
    }
}
