import LodgePlatform

/// A file to send, or a part of it.
package struct FileSegment: Sendable, Equatable {
    package let path: String
    package let offset: Int64
    /// The number of bytes, or `nil` for all bytes after the offset.
    package let length: Int64?

    /// Returns the number of bytes to send.
    package func measure() throws(HTTPFileError) -> Int64 {
        let (descriptor, length) = try open()
        FileDescriptor.close(descriptor)
        return length
    }

    /// Opens the file and returns its descriptor, which the caller closes, and the number of bytes to send.
    ///
    /// They start at ``offset``.
    package func open() throws(HTTPFileError) -> (descriptor: Int32, length: Int64) {
        func failure(_ reason: String) -> HTTPFileError { HTTPFileError(path: path, reason: reason) }
        guard offset >= 0, length.map({ $0 >= 0 }) ?? true else {
            throw failure("the part of the file that is to be sent has a negative offset or length.")
        }
        // Nonblocking, because opening a named pipe would wait for a writer.
        let descriptor = FileDescriptor.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw failure("the file cannot be read (\(systemMessage())); check its path and permissions.")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            FileDescriptor.close(descriptor)
            throw failure("this is not a regular file; send what a pipe or a device gives as chunks.")
        }
        let size = Int64(status.st_size)
        let end =
            length.map { offset.addingReportingOverflow($0) } ?? (partialValue: max(offset, size), overflow: false)
        guard offset <= size, !end.overflow, end.partialValue <= size else {
            FileDescriptor.close(descriptor)
            throw failure("the file has \(size) bytes, fewer than the part of it that is to be sent needs.")
        }
        return (descriptor, end.partialValue - offset)
    }
}
