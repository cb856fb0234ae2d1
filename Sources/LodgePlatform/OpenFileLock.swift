/// Locks that belong to an open file description, not to a process.
///
/// Such a lock excludes other processes, and also threads of this process that opened the file themselves.
package enum OpenFileLock {
    // Glibc, Musl and Darwin have F_OFD_SETLK in their headers, but Swift does not import it.
    private static let setCommand: Int32 = platformValue(linux: 37, darwin: 90)

    /// Locks the byte at an offset until the file is closed. Returns 0, or the error number if another holder has the
    /// lock or the system cannot lock the file.
    package static func lock(_ file: Int32, byte: off_t) -> Int32 {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = byte
        range.l_len = 1
        return fcntl(file, setCommand, &range) == 0 ? 0 : errno
    }

    /// Returns the number of files on this machine in which a process has locked the byte at an offset.
    ///
    /// Returns 0 if the system does not report locks.
    ///
    /// See proc_locks(5).
    package static func fileCount(ofByte byte: off_t) -> Int {
        guard case .success(let bytes) = OwnerOnlyFile.read("/proc/locks", maximumSize: 16 << 20) else { return 0 }
        return files(ofByte: byte, in: bytes).count
    }

    /// Returns the device and inode of each file with such a lock, from the text of `/proc/locks`.
    ///
    /// The text can contain a lock twice, because the kernel writes it in parts while processes change their locks.
    static func files(ofByte byte: off_t, in locks: [UInt8]) -> Set<[UInt8]> {
        let ends = [UInt8]("\(byte) \(byte)".utf8)
        var files: Set<[UInt8]> = []
        for line in locks.split(separator: UInt8(ascii: "\n")) where line.suffix(ends.count).elementsEqual(ends) {
            // "12: OFDLCK ADVISORY  WRITE -1 08:01:1234 FIRST LAST". A waiting process has "->" after "12:",
            // and so nine words.
            let words = line.split(separator: UInt8(ascii: " "))
            guard words.count == 8, words[1].elementsEqual("OFDLCK".utf8), words[6].elementsEqual("\(byte)".utf8)
            else { continue }
            files.insert([UInt8](words[5]))
        }
        return files
    }
}
