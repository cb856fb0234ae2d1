import Platform

/// Why the answer could not be written.
package enum OutputError: Error, Sendable, Equatable {
    /// The reader went away (`| head`). The program ends quietly.
    case closed
    /// The system's error number: a full disk, a closed descriptor.
    case failed(Int32)

    /// The error to show; nil when the program ends quietly.
    package var commandError: CommandError? {
        guard case .failed(let number) = self else { return nil }
        return CommandError(.failed, "cannot write the output", reason: String(cString: strerror(number)))
    }
}

/// Where bytes go.
///
/// On the main actor, because writing waits while a pipe is full, and only the main thread may wait.
@MainActor package protocol OutputSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(OutputError)
}

/// Keeps what is written, for tests.
@MainActor package final class CapturedOutput: OutputSink {
    package private(set) var bytes: [UInt8] = []
    /// The error that writing ends with, once set.
    package var failure: OutputError?

    package init() {}

    package func write(_ bytes: [UInt8]) throws(OutputError) {
        if let failure { throw failure }
        self.bytes += bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Writes to a file descriptor that stays open.
@MainActor package final class DescriptorOutput: OutputSink {
    private let descriptor: Int32

    package init(_ descriptor: Int32) { self.descriptor = descriptor }

    package func write(_ bytes: [UInt8]) throws(OutputError) {
        do throws(SystemError) {
            // Another program that shares the terminal or pipe may have made it non-blocking: wait for room.
            try FileDescriptor.write(descriptor, bytes[...]) { FileDescriptor.waitForRoom(descriptor, -1) }
        } catch {
            throw error.code == EPIPE ? .closed : .failed(error.code)
        }
    }
}
