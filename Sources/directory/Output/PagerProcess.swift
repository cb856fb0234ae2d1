import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The program of `$PAGER`, run by the shell, with its input in a pipe.
@MainActor final class PagerProcess: Pager.Process {
    private let identifier: pid_t
    private let descriptor: Int32
    private let input: DescriptorOutput
    private var status: Int32??

    /// Whether a pager has the terminal. Ctrl-C is then the pager's: it must not end this program, or nobody would wait for the
    /// pager, and shell and pager would both read the keys.
    nonisolated static let hasTerminal = Atomic(false)

    /// Starts `command`; nil where the system refuses that.
    ///
    /// - Parameter environment: `LESS` and `LV` are added to it where they are not set: colours as they are, and the end of the
    ///   table leaves it on the screen.
    init?(_ command: String, environment: [String: String]) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        let (reading, writing) = (ends[0], ends[1])
        defer { close(reading) }
        _ = fcntl(writing, F_SETFD, FD_CLOEXEC)
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
        posix_spawn_file_actions_adddup2(&actions, reading, STDIN_FILENO)
        if reading != STDIN_FILENO { posix_spawn_file_actions_addclose(&actions, reading) }
        // What this program ignores or blocks, the pager is not to.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGPIPE, SIGINT, SIGTERM, SIGXFSZ] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = ["LESS": "FRX", "LV": "-c"].merging(environment) { $1 }
        let environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        let words = ["sh", "-c", command].map { (word: String) in strdup(word) } + [nil]
        defer { for pointer in words + environment { free(pointer) } }
        var child = pid_t()
        guard posix_spawn(&child, "/bin/sh", &actions, &attributes, words, environment) == 0 else {
            close(writing)
            return nil
        }
        Self.hasTerminal.store(true, ordering: .relaxed)
        signal(SIGINT, SIG_IGN)
        (identifier, descriptor, input) = (child, writing, DescriptorOutput(writing))
    }

    /// Writes to the pager, and waits while it does not read: a person looks at the first page.
    func write(_ bytes: [UInt8]) throws(OutputError) { try input.write(bytes) }

    /// Waits until the person leaves the pager. Another call gives the same status.
    func finish() -> Int32? {
        if let status { return status }
        close(descriptor)
        var word: Int32 = 0
        while waitpid(identifier, &word, 0) < 0, errno == EINTR {}
        Self.hasTerminal.store(false, ordering: .relaxed)
        let ended: Int32? = word & 0x7F == 0 ? (word >> 8) & 0xFF : nil
        status = .some(ended)
        return ended
    }
}
