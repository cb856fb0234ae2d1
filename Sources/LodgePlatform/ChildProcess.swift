/// Starts other programs, such as a browser, a pager or a clipboard tool.
///
/// The words are separate arguments; no shell parses them.
package enum ChildProcess {
    /// Starts a program, searched for in `PATH`.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - input: the descriptor for standard input. `nil` means empty input.
    ///   - output: the descriptor for standard output. `nil` means the output of this process.
    ///   - errors: the descriptor for standard error. `nil` means the errors of this process.
    ///   - isSilent: whether to discard its output.
    ///   - hasOwnGroup: whether to start it in its own process group, so that Ctrl-C in the terminal does not reach
    ///     it.
    /// - Returns: the process, or the error number: `ENOTSUP` on iOS, which starts no programs.
    package static func start(
        _ words: [String], environment: [String: String], input: Int32?, output: Int32? = nil, errors: Int32? = nil,
        isSilent: Bool, hasOwnGroup: Bool
    ) -> Result<pid_t, SystemError> {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            return .failure(SystemError(ENOTSUP))
        #else
            spawn(
                words, environment: environment, input: input, output: output, errors: errors, isSilent: isSilent,
                hasOwnGroup: hasOwnGroup)
        #endif
    }

    #if !(os(iOS) || os(tvOS) || os(watchOS) || os(visionOS))
        private static func spawn(
            _ words: [String], environment: [String: String], input: Int32?, output: Int32?, errors: Int32?,
            isSilent: Bool, hasOwnGroup: Bool
        ) -> Result<pid_t, SystemError> {
            guard let program = words.first else { return .failure(SystemError(ENOENT)) }
            #if canImport(Darwin)
                var actions: posix_spawn_file_actions_t?
                var attributes: posix_spawnattr_t?
            #else
                var actions = posix_spawn_file_actions_t()
                var attributes = posix_spawnattr_t()
            #endif
            posix_spawn_file_actions_init(&actions)
            posix_spawnattr_init(&attributes)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                posix_spawnattr_destroy(&attributes)
            }
            if let input {
                posix_spawn_file_actions_adddup2(&actions, input, 0)
                if input != 0 { posix_spawn_file_actions_addclose(&actions, input) }
            } else {
                posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            }
            if let output { posix_spawn_file_actions_adddup2(&actions, output, 1) }
            if let errors { posix_spawn_file_actions_adddup2(&actions, errors, 2) }
            if isSilent {
                posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
                posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
            }
            // A child would inherit ignored signals, and signals blocked on the threads of Swift's pool.
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            for number in EndingSignals.ignored { sigaddset(&signals, number) }
            posix_spawnattr_setsigdefault(&attributes, &signals)
            var flags = Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK)
            if hasOwnGroup {
                flags |= Int16(POSIX_SPAWN_SETPGROUP)
                posix_spawnattr_setpgroup(&attributes, 0)
            }
            posix_spawnattr_setflags(&attributes, flags)
            let arguments = words.map { strdup($0) } + [nil]
            let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
            defer { for word in arguments + variables { free(word) } }
            var process = pid_t()
            let code = ProcessLimits.withInheritedLimits {
                posix_spawnp(&process, program, &actions, &attributes, arguments, variables)
            }
            return code == 0 ? .success(process) : .failure(SystemError(code))
        }
    #endif

    /// Waits until a child process exits and returns its status as reported by `waitpid`.
    @discardableResult
    package static func waitForExit(_ process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status
    }
}
