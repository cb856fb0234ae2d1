/// The system calls for open files, which repeat a call after an interruption by a signal.
package enum FileDescriptor {
    /// Opens a file. Returns a negative number and sets `errno` on failure.
    package static func open(_ path: String, _ flags: Int32, _ mode: mode_t = 0o666) -> Int32 {
        systemOpen(path, flags, mode)
    }

    package static func close(_ file: Int32) { _ = systemClose(file) }

    /// Reads up to the size of the buffer, from an offset or from the file's position. Returns 0 at the end.
    package static func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: off_t? = nil
    ) throws(SystemError) -> Int {
        while true {
            let count = systemRead(file, buffer, offset)
            if count >= 0 { return count }
            guard errno == EINTR else { throw SystemError() }
        }
    }

    /// Reads up to the size of the chunk. Returns 0 at the end.
    package static func read(_ file: Int32, into chunk: inout [UInt8]) throws(SystemError) -> Int {
        try chunk.withUnsafeMutableBufferPointer { buffer throws(SystemError) in
            try read(file, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Waits for input and reads up to the size of the chunk. Returns 0 at the end, and `nil` after a timeout.
    package static func read(
        _ file: Int32, into chunk: inout [UInt8], waiting milliseconds: Int32
    ) throws(SystemError) -> Int? {
        while true {
            let ready = wait(for: POLLIN, of: file, milliseconds)
            if ready == 0 { return nil }
            if ready < 0, errno == EINTR { continue }
            do throws(SystemError) {
                return try read(file, into: &chunk)
            } catch {
                // Another reader of the same nonblocking file was faster.
                guard error.code == EAGAIN else { throw error }
            }
        }
    }

    /// Writes as many bytes as the system accepts. Returns 0 if a nonblocking file accepts none.
    package static func writeAvailable(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        while true {
            let count = systemWrite(file, bytes)
            if count > 0 || bytes.isEmpty { return max(count, 0) }
            switch count < 0 ? errno : EIO {
            case EINTR: continue
            case EAGAIN: return 0
            case let code: throw SystemError(code)
            }
        }
    }

    /// Writes as many bytes as the system accepts. Returns 0 if a nonblocking file accepts none.
    package static func writeAvailable(_ file: Int32, _ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
            try writeAvailable(file, UnsafeRawBufferPointer(buffer))
        }
    }

    /// Writes all bytes.
    ///
    /// - Parameter waitForRoom: Waits until a nonblocking file accepts more bytes. By default, such a file is an error.
    package static func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer,
        waitForRoom: () throws(SystemError) -> Void = { () throws(SystemError) in throw SystemError(EAGAIN) }
    ) throws(SystemError) {
        var remaining = bytes[...]
        while !remaining.isEmpty {
            let count = try writeAvailable(file, UnsafeRawBufferPointer(rebasing: remaining))
            remaining = remaining.dropFirst(count)
            if count == 0 { try waitForRoom() }
        }
    }

    /// Writes all bytes.
    ///
    /// - Parameter waitForRoom: Waits until a nonblocking file accepts more bytes. By default, such a file is an error.
    package static func write(
        _ file: Int32, _ bytes: ArraySlice<UInt8>,
        waitForRoom: () throws(SystemError) -> Void = { () throws(SystemError) in throw SystemError(EAGAIN) }
    ) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
            try write(file, UnsafeRawBufferPointer(buffer), waitForRoom: waitForRoom)
        }
    }

    /// Waits until a file accepts more bytes or its reader has closed it, at most the given number of milliseconds; -1
    /// means no limit. Returns whether it does.
    @discardableResult
    package static func waitForRoom(_ file: Int32, _ milliseconds: Int32) -> Bool {
        wait(for: POLLOUT, of: file, milliseconds) > 0
    }

    private static func wait(for event: some BinaryInteger, of file: Int32, _ milliseconds: Int32) -> Int32 {
        var request = pollfd(fd: file, events: Int16(event), revents: 0)
        return poll(&request, 1, milliseconds)
    }
}

// The methods above hide the functions with the same names.

private func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 { open(path, flags, mode) }

private func systemClose(_ file: Int32) -> Int32 { close(file) }

private func systemRead(_ file: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: off_t?) -> Int {
    guard let offset else { return read(file, buffer.baseAddress, buffer.count) }
    return pread(file, buffer.baseAddress, buffer.count, offset)
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(file, bytes.baseAddress, bytes.count)
}
