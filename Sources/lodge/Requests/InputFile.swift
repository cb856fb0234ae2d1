import CommandLineKit
import Platform

/// A private file for standard input, so that it can be sent again, whatever its size. On Linux it has no name: it disappears
/// however the command ends.
struct InputFile {
    let path: String
    private let descriptor: Int32
    private let hasName: Bool

    /// - Throws: ``CommandError`` when the folder for temporary files takes none.
    init() throws(CommandError) {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let name = (folder.hasSuffix("/") ? folder : folder + "/") + "lodge-input-\(UUID().uuidString)"
        descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError(
                .failed, "cannot save standard input in \(name)",
                reason: String(cString: strerror(errno)), hint: "make room there, or set TMPDIR to another folder")
        }
        #if os(Linux)
            // Opening this opens the file anew, from its beginning, where /proc is there.
            let number = "/dev/fd/\(descriptor)"
            var own = stat()
            var reached = stat()
            if fstat(descriptor, &own) == 0, stat(number, &reached) == 0, own.st_ino == reached.st_ino,
                own.st_dev == reached.st_dev
            {
                unlink(name)
                path = number
                hasName = false
                return
            }
        #endif
        path = name
        hasName = true
    }

    func remove() {
        close(descriptor)
        if hasName { unlink(path) }
    }
}
