import LodgePlatform

/// The error of a write.
package enum OutputError: Error, Sendable, Equatable {
    /// The reader closed the pipe (`| head`). The program ends silently.
    case closed
    /// The value of `errno`: a full disk, a closed descriptor.
    case failed(Int32)

    /// The error to show, or `nil` if the program ends silently.
    package var commandError: CommandError? {
        guard case .failed(let number) = self else { return nil }
        return CommandError(.failed, "cannot write the output", reason: String(cString: strerror(number)))
    }
}

/// A destination for bytes.
///
/// It runs on the main actor, because writing blocks while a pipe is full, and only the main thread may block.
@MainActor package protocol OutputSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(OutputError)
}

/// Stores the output, for tests.
@MainActor package final class CapturedOutput: OutputSink {
    package private(set) var bytes: [UInt8] = []
    /// The error that each write throws, once set.
    package var failure: OutputError?

    package init() {}

    package func write(_ bytes: [UInt8]) throws(OutputError) {
        if let failure { throw failure }
        self.bytes += bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Writes to a file descriptor and leaves it open.
@MainActor package final class DescriptorOutput: OutputSink {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package func write(_ bytes: [UInt8]) throws(OutputError) {
        do throws(SystemError) {
            // Another program that shares the terminal or pipe may have made it nonblocking, so wait until it is
            // writable.
            try FileDescriptor.write(descriptor, bytes[...]) { FileDescriptor.waitForRoom(descriptor, -1) }
        } catch {
            throw error.code == EPIPE ? .closed : .failed(error.code)
        }
    }
}
