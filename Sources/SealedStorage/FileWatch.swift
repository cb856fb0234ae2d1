import Platform
import Dispatch

/// Tells when a file was written, without polling: inotify on Linux, kqueue on Apple's systems. Where the system has no watch
/// left to give, the file is looked for once a second: better late than a store that does not open.
///
/// Sendable is sound: the source is made in `init`, and afterwards only cancelled, which Dispatch allows from any thread.
final class FileWatch: StorageLock, @unchecked Sendable {
    private let source: any DispatchSourceProtocol
    private let once = Once()

    init(path: String, handler: @escaping @Sendable () -> Void) {
        source = Self.systemSource(path, handler) ?? Self.timer(handler)
        source.activate()
    }

    #if canImport(Darwin)
        private static func systemSource(
            _ path: String, _ handler: @escaping @Sendable () -> Void
        ) -> (any DispatchSourceProtocol)? {
            let descriptor = open(path, O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .extend, .attrib], queue: .global(qos: .utility))
            source.setEventHandler(handler: handler)
            source.setCancelHandler { close(descriptor) }
            return source
        }
    #else
        private static func systemSource(
            _ path: String, _ handler: @escaping @Sendable () -> Void
        ) -> (any DispatchSourceProtocol)? {
            let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
            guard descriptor >= 0 else { return nil }
            // The file alone: the lock file beside it is opened and closed by everybody who waits.
            guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
            source.setEventHandler { @Sendable in
                // What was written does not matter: the log of changes tells. The queue only has to be emptied.
                var buffer = [UInt8](repeating: 0, count: 4096)
                while read(descriptor, &buffer, buffer.count) > 0 {}
                handler()
            }
            source.setCancelHandler { close(descriptor) }
            return source
        }
    #endif

    private static func timer(_ handler: @escaping @Sendable () -> Void) -> any DispatchSourceProtocol {
        let source = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        source.schedule(deadline: .now() + 1, repeating: 1, leeway: .milliseconds(100))
        source.setEventHandler(handler: handler)
        return source
    }

    func release() { once.run { source.cancel() } }

    deinit { release() }
}
