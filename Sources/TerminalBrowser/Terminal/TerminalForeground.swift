import Platform

/// Whose turn it is at the terminal: a shell gives it to one group of processes at a time, the one in the foreground.
///
/// A group in the background is to leave the terminal alone, and is stopped by the system with SIGTTOU when it sets the modes all the same
/// ([job control in POSIX](https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap11.html)). The shell says so then, and
/// `fg` brings it to the foreground.
enum TerminalForeground {
    /// Whether the terminal is this program's to use. One that is not the session's own has no such turns.
    ///
    /// It may be asked in a handler of a signal.
    static var isOurs: Bool {
        let group = tcgetpgrp(0)
        return group < 0 || group == getpgrp()
    }

    /// Lets the calling thread, the one that uses the terminal, meet what the system does to the background.
    ///
    /// Threads may inherit that they take no signals, and to those the system allows everything. SIGTTIN stays away: a read in the
    /// background is an error then, after which a demand to end is still seen.
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

    /// Stops the program and everything that was started with it, as the system does in the background. Where nothing can continue it,
    /// this does nothing.
    static func stop() { kill(0, SIGTTOU) }
}
