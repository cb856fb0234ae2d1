import CommandLineKit
import LodgePlatform

/// A temporary file with standard input, so that it can be sent again, readable only by the user.
///
/// On Linux it has no name, so it disappears however the command ends.
struct InputFile {
    let path: String
    private let descriptor: Int32
    private let hasName: Bool

    /// Creates the file.
    ///
    /// - Throws: ``CommandError`` if the temporary folder is not writable.
    init() throws(CommandError) {
        let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let name = (folder.hasSuffix("/") ? folder : folder + "/") + "lodge-input-\(UUID().uuidString)"
        descriptor = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError(
                .failed, "cannot save standard input in \(name)",
                reason: String(cString: strerror(errno)), hint: "free space there, or set TMPDIR to another folder")
        }
        #if os(Linux)
            // With /proc, opening this path reopens the file at its beginning.
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
