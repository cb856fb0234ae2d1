import Synchronization

/// Limits of this process.
package enum ProcessLimits {
    /// The limit of core files that this process inherited; `nil` before ``protectMemory()``.
    private static let inherited = Mutex<rlimit?>(nil)

    /// Protects the secrets in memory.
    ///
    /// Forbids core files and, on Linux, access by debuggers and other processes of the user.
    ///
    /// Linux passes the core to a program such as systemd-coredump despite the limit, unless the process is not
    /// dumpable. The limit is for other systems. A program started by ``ProcessReplacement`` or ``ChildProcess`` gets
    /// the inherited limit, and `execve` makes it dumpable again.
    package static func protectMemory() {
        inherited.withLock { inherited in
            var limit = rlimit()
            guard inherited == nil, getrlimit(coreFiles, &limit) == 0 else { return }
            inherited = limit
            setCoreLimit(0, limit)
        }
        #if os(Linux)
            // The C function is variadic, which Swift does not import.
            typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
            let control: Control? = try? DynamicLibrary.program?.function("prctl")
            // PR_SET_DUMPABLE, which Swift does not import either.
            _ = control?(4, 0, 0, 0, 0)
        #endif
    }

    /// Runs `body`, which starts a program, with the inherited limits.
    static func withInheritedLimits<Value>(_ body: () -> Value) -> Value {
        inherited.withLock { inherited in
            guard let inherited else { return body() }
            setCoreLimit(inherited.rlim_cur, inherited)
            defer { setCoreLimit(0, inherited) }
            return body()
        }
    }

    /// Changes only the soft limit: an ordinary user cannot raise a hard limit again.
    private static func setCoreLimit(_ bytes: rlim_t, _ limit: rlimit) {
        var limit = limit
        limit.rlim_cur = bytes
        setrlimit(coreFiles, &limit)
    }

    #if canImport(Glibc)
        private static let coreFiles = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
        private static let coreFiles = RLIMIT_CORE
    #endif
}
