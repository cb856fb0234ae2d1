import LodgePlatform
import CNCurses

/// Restores the terminal when the program crashes or must stop immediately.
///
/// A signal handler may do very little: it writes prepared bytes, sets the modes, and repeats the signal. POSIX allows
/// all of these.
enum TerminalRestoration {
    /// The signals of a crash, and requests to stop that nothing else handles.
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSYS, SIGQUIT]
    private static let stackSize = 64 * 1024

    /// Installs the signal handlers.
    ///
    /// Call it on the main thread before opening the terminal; that thread gets a signal stack, for stack overflow.
    static func prepare() {
        ccurses_signal_stack(.allocate(byteCount: stackSize, alignment: 16), stackSize)
        for number in signals { ccurses_on_signal(number, restoreAndEnd) }
    }

    /// Saves the current modes.
    ///
    /// Call it in the foreground before opening the terminal: in the background, the modes are the shell's.
    static func rememberModes() { saved.pointee.hasModes = tcgetattr(0, &saved.pointee.modes) == 0 }

    /// Returns the bytes that restore cursor, colors, keys and screen, after the given prefix.
    ///
    /// Used on the terminal's thread.
    static func bytes(after beginning: String) -> [UInt8] {
        var bytes = Array(beginning.utf8)
        for name in ["sgr0", "op", "cnorm", "rmkx", "rmcup"] {
            guard let text = ccurses_capability(name) else { continue }
            // Without padding such as `$<5>`, with which terminfo describes delays.
            bytes += String(cString: text).replacing(/\$<[^>]*>/, with: "").utf8
        }
        return bytes
    }

    /// Saves the bytes that restore the terminal. From now on a crash writes them.
    static func arm(_ bytes: [UInt8]) {
        saved.pointee.count = 0
        let count = min(bytes.count, SavedTerminal.capacity)
        for index in 0..<count { saved.pointee.bytes[index] = bytes[index] }
        saved.pointee.count = count
    }

    /// Clears the saved bytes: the terminal belongs to another program.
    static func disarm() { saved.pointee.count = 0 }

    /// Restores the default signal handlers.
    static func finish() {
        disarm()
        for number in signals { signal(number, SIG_DFL) }
    }

    /// Writes the saved bytes and sets the modes.
    ///
    /// Does nothing in the background, where another program uses the terminal.
    static func restore() {
        let saved = saved
        guard saved.pointee.count > 0, TerminalForeground.isOurs else { return }
        _ = write(1, saved.pointee.bytes, saved.pointee.count)
        saved.pointee.count = 0
        if saved.pointee.hasModes { tcsetattr(0, TCSANOW, &saved.pointee.modes) }
    }

    fileprivate struct SavedTerminal {
        static let capacity = 1024
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        var count = 0
        var modes = termios()
        var hasModes = false
    }

    /// Never freed, because a signal may arrive at any time.
    ///
    /// Unsafe is sound enough: the terminal's thread writes it, the count last, and handlers read it at the end of the
    /// process. In the worst case the terminal is restored twice.
    fileprivate nonisolated(unsafe) static let saved: UnsafeMutablePointer<SavedTerminal> = {
        let saved = UnsafeMutablePointer<SavedTerminal>.allocate(capacity: 1)
        saved.initialize(to: SavedTerminal())
        return saved
    }()
}

private func restoreAndEnd(_ number: Int32) {
    TerminalRestoration.restore()
    signal(number, SIG_DFL)
    // Delivered when this handler returns. A faulty instruction runs again.
    raise(number)
}

/// The terminal signals, forwarded as bytes in a pipe to the terminal's thread.
enum TerminalSignals {
    enum Letter: UInt8 {
        case wake = 0x77
        case resized = 0x72
        /// The program continues after a stop.
        case continued = 0x63
        /// The program is to stop, for example by `kill -TSTP`.
        case stop = 0x74
    }

    // Without signals that end the program: the program handles those, cancels the session and knows the signal.
    private static let signals = [SIGWINCH, SIGCONT, SIGTSTP]

    /// Installs the signal handlers. Each signal writes one byte to this pipe.
    static func begin(writingTo descriptor: Int32) {
        pipe.pointee = descriptor
        for number in signals { ccurses_on_signal(number, writeLetter) }
    }

    static func end() {
        for number in signals { signal(number, SIG_DFL) }
        pipe.pointee = -1
    }

    /// Sets whether the next SIGTSTP stops the program.
    static func allowStop(_ isAllowed: Bool) {
        if isAllowed { signal(SIGTSTP, SIG_DFL) } else { ccurses_on_signal(SIGTSTP, writeLetter) }
    }

    /// Never freed, because a signal may arrive at any time.
    ///
    /// Written before the handlers are installed and after they are removed.
    fileprivate nonisolated(unsafe) static let pipe: UnsafeMutablePointer<Int32> = {
        let position = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        position.initialize(to: -1)
        return position
    }()
}

private func writeLetter(_ number: Int32) {
    let before = errno
    let meaning: TerminalSignals.Letter =
        switch number {
        case SIGWINCH: .resized
        case SIGCONT: .continued
        default: .stop
        }
    var letter = meaning.rawValue
    _ = write(TerminalSignals.pipe.pointee, &letter, 1)
    errno = before
}
