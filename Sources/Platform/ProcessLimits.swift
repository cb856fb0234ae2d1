/// Limits of this process.
package enum ProcessLimits {
    /// Forbids core files, which would contain the secrets in memory.
    package static func forbidCoreFiles() {
        var none = rlimit()
        #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        #else
            setrlimit(RLIMIT_CORE, &none)
        #endif
    }
}
