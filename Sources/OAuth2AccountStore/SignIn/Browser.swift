import Dispatch

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif os(macOS)
    import Darwin
#endif

/// Why the browser was not opened.
public struct BrowserError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason in words.
    public let description: String
}

/// Shows an address in the user's browser.
enum Browser {
    #if os(macOS)
        private static let opener = "open"
    #else
        private static let opener = "xdg-open"
    #endif

    /// Starts the browser: `$BROWSER` when it is set, else the system's opener. The address is one argument of its own; no
    /// shell reads it. It does not wait for the browser to end.
    ///
    /// - Throws: ``BrowserError`` when the address is not http(s), or the program cannot be started.
    static func open(_ url: URL, environment: [String: String]) async throws {
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
            throw BrowserError(description: "only web addresses are opened")
        }
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
            throw BrowserError(description: "show the address with the system's web authentication session")
        #else
            let wanted = environment["BROWSER"].flatMap { $0.split(separator: ":").first.map(String.init) }
            let program = wanted.flatMap { $0.contains("%") || $0.contains(" ") ? nil : $0 } ?? opener
            try spawn([program, url.absoluteString], environment: environment)
        #endif
    }

    #if !(os(iOS) || os(tvOS) || os(watchOS) || os(visionOS))
        private static func spawn(_ arguments: [String], environment: [String: String]) throws {
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
            // What the browser writes does not belong into the program's output.
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
            // A group of its own: Ctrl-C in the terminal ends the program, not the browser. And broken pipes end it as usual.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            posix_spawnattr_setsigdefault(&attributes, &signals)
            // Threads of Swift's pool have signals blocked, which a child would inherit.
            var unblocked = sigset_t()
            sigemptyset(&unblocked)
            posix_spawnattr_setsigmask(&attributes, &unblocked)
            posix_spawnattr_setflags(
                &attributes,
                Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
            posix_spawnattr_setpgroup(&attributes, 0)
            let words = arguments.map { strdup($0) } + [nil]
            let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
            defer { for word in words + variables { free(word) } }
            var process = pid_t()
            let code = posix_spawnp(&process, arguments[0], &actions, &attributes, words, variables)
            guard code == 0 else {
                throw BrowserError(description: "\(arguments[0]) cannot be started: \(String(cString: strerror(code)))")
            }
            let child = process
            DispatchQueue.global(qos: .utility).async {
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
            }
        }
    #endif
}
