import Synchronization

#if !(os(iOS) || os(tvOS) || os(watchOS) || os(visionOS))
    /// A program that runs instead of this process, which remains its parent: it has the standard streams and the terminal, and this
    /// process passes on its own signals and exit status.
    ///
    /// It is in the process group of its parent, so that the terminal suspends and resumes both.
    package final class ForegroundProcess: Sendable {
        private let process = Mutex<pid_t?>(nil)
        private let status = Mutex<Int32?>(nil)

        package init() {}

        /// The exit status of the program, if it has ended. This process ends with the same.
        package var exitStatus: Int32? {
            get { status.withLock { $0 } }
            set { status.withLock { $0 = newValue } }
        }

        /// Runs a program, searched for in `PATH`, until it ends.
        ///
        /// - Returns: The exit status of the program, 128 and the number of the signal that ended it, or the error of the start.
        package func run(_ words: [String], environment: [String: String]) async -> Result<Int32, SystemError> {
            // A signal that arrives now waits until the program has started.
            let started = process.withLock { process in
                let started = ChildProcess.start(
                    words, environment: environment, input: 0, isSilent: false, hasOwnGroup: false)
                process = try? started.get()
                return started
            }
            switch started {
            case .failure(let error): return .failure(error)
            case .success(let child):
                return await withCheckedContinuation { continuation in
                    DetachedThread.run { continuation.resume(returning: .success(self.wait(for: child))) }
                }
            }
        }

        /// Passes a signal of this process to the program. Returns `false` if it does not run.
        package func receive(_ number: Int32) -> Bool {
            process.withLock { process in
                guard let process else { return false }
                // The terminal sends these signals to the whole process group.
                if [SIGINT, SIGQUIT].contains(number), Self.isInForeground { return true }
                kill(process, number)
                return true
            }
        }

        private func wait(for child: pid_t) -> Int32 {
            var information = siginfo_t()
            // Until the next call the system does not reuse the identifier, so that a signal reaches no other process.
            while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let word = process.withLock { process in
                process = nil
                return ChildProcess.waitForExit(child)
            }
            let signal = word & 0x7F
            return signal == 0 ? (word >> 8) & 0xFF : 128 + signal
        }

        /// Whether the terminal of the session sends its signals to the process group of this process.
        private static var isInForeground: Bool {
            let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
            guard terminal >= 0 else { return false }
            defer { close(terminal) }
            return tcgetpgrp(terminal) == getpgrp()
        }
    }
#endif
