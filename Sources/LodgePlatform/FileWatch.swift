import Dispatch

/// Calls a handler after a file was written: with inotify on Linux, with kqueue on Darwin.
///
/// If the system has no watch left, it calls the handler once per second, so that its owner still works.
///
/// Sendable is sound: the source is created in `init` and later only cancelled, which Dispatch allows from any thread.
package final class FileWatch: @unchecked Sendable {
    private let source: any DispatchSourceProtocol
    private let once = Once()

    package init(path: String, handler: @escaping @Sendable () -> Void) {
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
            // Watch only this file: every waiting process opens and closes the lock file in the same folder.
            guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY)) >= 0 else {
                close(descriptor)
                return nil
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
            source.setEventHandler { @Sendable in
                // The change log has the details, so only empty the queue.
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

    /// Ends the watch.
    package func release() { once.run { source.cancel() } }

    deinit { release() }
}
