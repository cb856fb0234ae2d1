/// The system's own way to become another program.
package enum ProcessReplacement {
    /// Runs a program, found in PATH, in the place of this one. Comes back only with the error's number.
    package static func replace(with words: [String], _ environment: [String: String]) -> Int32 {
        // What this program ignores, the next one is not to ignore unknowingly.
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

    /// Where a program may be: at its path, or in a folder of PATH.
    private static func candidates(_ program: String, _ environment: [String: String]) -> [String] {
        if program.contains("/") { return [program] }
        let folders = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(program)" }
    }
}
