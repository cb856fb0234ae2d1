import Foundation
import HTTPExchange
import LodgePlatform
import Synchronization

/// Content in a temporary file that only the user can read.
///
/// `URLSession` sends a file with its length, and again if a connection is lost. A stream has no length, and some
/// servers reject content without it.
final class SpooledContent: Sendable {
    let url: URL

    /// Creates the file and writes the content to it.
    ///
    /// - Throws: `HTTPFileError` if a file cannot be read or written; the errors of the chunks.
    init(_ content: HTTPBody) async throws {
        url = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
        let path = url.path(percentEncoded: false)
        let descriptor = FileDescriptor.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw HTTPFileError(path: path, reason: "the file cannot be created (\(systemMessage())).")
        }
        defer { FileDescriptor.close(descriptor) }
        do {
            for segment in content.segments { try await Self.write(segment, to: descriptor, path) }
        } catch {
            remove()
            throw error
        }
    }

    deinit { remove() }

    func remove() { try? FileManager.default.removeItem(at: url) }

    private static func write(_ segment: HTTPBody.Segment, to descriptor: Int32, _ path: String) async throws {
        switch segment {
        case .bytes(let bytes): try write(bytes, to: descriptor, path)
        case .file(let file):
            let (source, length) = try file.open()
            defer { FileDescriptor.close(source) }
            var position: Int64 = 0
            var buffer = [UInt8](repeating: 0, count: 1 << 18)
            while position < length {
                let wanted = Int(min(Int64(buffer.count), length - position))
                let count = try buffer.withUnsafeMutableBytes { bytes in
                    try FileDescriptor.read(
                        source, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted]),
                        at: off_t(file.offset + position))
                }
                guard count > 0 else {
                    throw HTTPFileError(path: file.path, reason: "the file became shorter while it was read.")
                }
                try write(Data(buffer[..<count]), to: descriptor, path)
                position += Int64(count)
            }
        case .chunks(let source):
            let total = WrittenCount()
            try await source.produce { chunk in
                try write(chunk, to: descriptor, path)
                total.add(chunk.count)
            }
            guard let length = source.length, total.value != length else { return }
            throw HTTPTransportError(
                .invalidRequest, host: "",
                reason: "The chunks of the content have \(total.value) bytes, and \(length) were announced for them.")
        }
    }

    private static func write(_ data: Data, to descriptor: Int32, _ path: String) throws {
        do {
            try data.withUnsafeBytes { try FileDescriptor.write(descriptor, $0) }
        } catch let error as SystemError {
            throw HTTPFileError(path: path, reason: "the content cannot be written (\(error.explanation)).")
        }
    }
}

/// The bytes of the chunks so far.
private final class WrittenCount: Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }
    func add(_ bytes: Int) { count.wrappingAdd(Int64(bytes), ordering: .relaxed) }
}
