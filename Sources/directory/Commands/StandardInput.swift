#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Standard input, read whole.
enum StandardInput {
    /// The bytes up to the end. The main thread waits for them, not one of Swift's pool.
    @MainActor
    static func read(limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = systemRead(&chunk)
            if count < 0, errno == EINTR {
                try Task.checkCancellation()
                continue
            }
            guard count >= 0 else {
                throw CommandError(.failed, "cannot read standard input", reason: String(cString: strerror(errno)))
            }
            if count == 0 { return bytes }
            bytes += chunk[..<count]
            guard bytes.count <= limit else {
                throw CommandError(
                    .usage, "standard input is too large", reason: "expected at most \(limit) bytes",
                    hint: "give the token answer alone, as JSON")
            }
        }
    }

    private static func systemRead(_ chunk: inout [UInt8]) -> Int {
        #if canImport(Glibc)
            Glibc.read(0, &chunk, chunk.count)
        #elseif canImport(Musl)
            Musl.read(0, &chunk, chunk.count)
        #else
            Darwin.read(0, &chunk, chunk.count)
        #endif
    }
}
