import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Tells when a file of a directory was written, without polling: inotify on Linux, kqueue on Apple's systems.
///
/// Sendable is sound: the source is made in `init`, and afterwards only cancelled, which Dispatch allows from any thread.
final class DirectoryWatch: StorageLock, @unchecked Sendable {
    private let source: any DispatchSourceProtocol
    private let once = Once()

    init(path: String, handler: @escaping @Sendable () -> Void) throws(StorageError) {
        #if canImport(Darwin)
            let descriptor = open(path + "/accounts.sqlite", O_EVTONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .system(errno, place: path, doing: "watching for changes") }
            let source = DispatchSource.makeFileSystemObjectSource(
                fileDescriptor: descriptor, eventMask: [.write, .extend, .attrib], queue: .global(qos: .utility))
            source.setEventHandler(handler: handler)
        #else
            let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
            guard descriptor >= 0 else { throw .system(errno, place: path, doing: "watching for changes") }
            guard inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_CLOSE_WRITE)) >= 0 else {
                let code = errno
                close(descriptor)
                throw .system(code, place: path, doing: "watching for changes")
            }
            let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global(qos: .utility))
            source.setEventHandler { @Sendable in
                // What was written does not matter: the log of changes tells. The queue only has to be emptied.
                var buffer = [UInt8](repeating: 0, count: 16 * 1024)
                while read(descriptor, &buffer, buffer.count) > 0 {}
                handler()
            }
        #endif
        source.setCancelHandler { close(descriptor) }
        source.activate()
        self.source = source
    }

    func release() { once.run { source.cancel() } }

    deinit { release() }
}
