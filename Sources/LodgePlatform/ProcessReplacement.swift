/// Replaces this process with another program.
package enum ProcessReplacement {
    /// Runs a program, searched for in PATH, instead of this one. Returns only on failure, with the error number.
    package static func replace(with words: [String], _ environment: [String: String]) -> Int32 {
        // The next program must not inherit ignored signals.
        for number in EndingSignals.ignored { signal(number, SIG_DFL) }
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        var failure = ENOENT
        ProcessLimits.withInheritedLimits {
            for path in candidates(words.first ?? "", environment) {
                execve(path, arguments, variables)
                if errno != ENOENT && errno != ENOTDIR { failure = errno }
                if failure != ENOENT && failure != EACCES { break }
            }
        }
        return failure
    }

    /// Returns the possible paths of a program: its own path, or one in each folder of PATH.
    private static func candidates(_ program: String, _ environment: [String: String]) -> [String] {
        if program.contains("/") { return [program] }
        let folders = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(program)" }
    }
}
