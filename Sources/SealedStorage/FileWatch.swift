import Platform
import Dispatch

/// Calls a handler after each write to a file: inotify on Linux, kqueue on Apple's systems. If the system has no watch left, it
/// calls the handler once a second, so that the store opens nevertheless.
///
/// Sendable is sound: `init` creates the source, which is afterwards only cancelled, as Dispatch allows from any thread.
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
            // Only this file: every waiting process opens and closes the lock file in the same folder.
            guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
            source.setEventHandler { @Sendable in
                // The change log says what was written. Only empty the queue here.
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
