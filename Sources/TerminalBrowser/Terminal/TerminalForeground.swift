import LodgePlatform

/// The foreground of job control: a shell gives the terminal to one process group at a time.
///
/// The system stops a background group with SIGTTOU when it sets the modes ([job control in
/// POSIX](https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap11.html)); `fg` brings it to the foreground.
enum TerminalForeground {
    /// Whether this program may use the terminal.
    ///
    /// Always true if it is not the session's terminal. Safe in a signal handler.
    static var isOurs: Bool {
        let group = tcgetpgrp(0)
        return group < 0 || group == getpgrp()
    }

    /// Prepares the thread that uses the terminal for the background.
    ///
    /// Threads may inherit blocked signals, and the system lets those write. SIGTTIN stays blocked: a read in the background is then
    /// an error, after which the thread still sees a request to end.
    static func prepareThread() {
        signal(SIGTTOU, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTTOU)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        sigemptyset(&signals)
        sigaddset(&signals, SIGTTIN)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Stops the process group, as the system does in the background, unless no shell can continue it.
    static func stop() { kill(0, SIGTTOU) }
}
