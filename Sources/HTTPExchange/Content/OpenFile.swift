import LodgePlatform

/// A file open for writing, closed with its last reference.
package final class OpenFile: Sendable {
    let descriptor: Int32
    let path: String

    /// Creates a file that owns the descriptor.
    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { FileDescriptor.close(descriptor) }

    /// Appends all bytes. May block for the disk.
    package func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPFileError) {
        do throws(SystemError) {
            try FileDescriptor.write(descriptor, bytes)
        } catch {
            throw HTTPFileError(
                path: path,
                reason: "cannot write the response (\(error.explanation)). Free some space, or choose another folder.")
        }
    }

    /// Appends all bytes. May block for the disk.
    package func write(_ data: Data) throws(HTTPFileError) {
        let result = data.withUnsafeBytes { bytes in
            Result { () throws(HTTPFileError) in try write(bytes) }
        }
        try result.get()
    }
}

/// Separate threads for calls that may block for a disk, instead of threads of Swift's pool.
package enum FileThread {
    /// Runs the work on a new thread.
    package static func run<Value: Sendable>(
        _ work: @escaping @Sendable () throws(HTTPFileError) -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
            let code = DetachedThread.start { continuation.resume(with: Result { try work() }) }
            guard code != 0 else { return }
            continuation.resume(
                throwing: HTTPTransportError(
                    .other, host: "",
                    reason: "Cannot start a thread (error \(code)); the system is out of resources."))
        }
    }
}
