import Platform
import CNCurses

/// Restores the terminal when the program crashes or must stop at once.
///
/// A signal handler may do very little: it writes prepared bytes, sets the modes, and repeats the signal. POSIX allows all of these.
enum TerminalRestoration {
    /// The signals of a crash, and of a demand to stop that nothing else handles.
    private static let signals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGSYS, SIGQUIT]
    private static let stackSize = 64 * 1024

    /// Handles the signals from now on. Called before the terminal is taken, on the main thread, which gets a stack for the case that its
    /// own is full.
    static func prepare() {
        ccurses_signal_stack(.allocate(byteCount: stackSize, alignment: 16), stackSize)
        for number in signals { ccurses_on_signal(number, restoreAndEnd) }
    }

    /// Remembers how the terminal is now. Called in the foreground, before it is taken: in the background its modes are the shell's own.
    static func rememberModes() { saved.pointee.hasModes = tcgetattr(0, &saved.pointee.modes) == 0 }

    /// The bytes that restore the terminal: these, then cursor, colors, keys and screen. Used on the terminal's thread.
    static func bytes(after beginning: String) -> [UInt8] {
        var bytes = Array(beginning.utf8)
        for name in ["sgr0", "op", "cnorm", "rmkx", "rmcup"] {
            guard let text = ccurses_capability(name) else { continue }
            // Without delays such as `$<5>`, by which terminfo says that a terminal needs time.
            bytes += String(cString: text).replacing(/\$<[^>]*>/, with: "").utf8
        }
        return bytes
    }

    /// The bytes that give the terminal back. From now on a crash writes them.
    static func arm(_ bytes: [UInt8]) {
        saved.pointee.count = 0
        let count = min(bytes.count, SavedTerminal.capacity)
        for index in 0..<count { saved.pointee.bytes[index] = bytes[index] }
        saved.pointee.count = count
    }

    /// The terminal is somebody else's again.
    static func disarm() { saved.pointee.count = 0 }

    /// The signals do what they do without this program.
    static func finish() {
        disarm()
        for number in signals { signal(number, SIG_DFL) }
    }

    /// Writes the bytes, if there are any, and sets the modes; not in the background, where the terminal is somebody else's.
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

    /// Never freed: a signal may come at any time. Unsafe is sound enough: it is written by the thread that has the terminal, the count
    /// last, and read by handlers at the end of the process, whose worst case is a terminal that is given back twice.
    fileprivate nonisolated(unsafe) static let saved: UnsafeMutablePointer<SavedTerminal> = {
        let saved = UnsafeMutablePointer<SavedTerminal>.allocate(capacity: 1)
        saved.initialize(to: SavedTerminal())
        return saved
    }()
}

private func restoreAndEnd(_ number: Int32) {
    TerminalRestoration.restore()
    signal(number, SIG_DFL)
    // Delivered when this handler is left; a faulty instruction is met again.
    raise(number)
}

/// The signals about the terminal, as letters in a pipe that the terminal's thread reads.
enum TerminalSignals {
    enum Letter: UInt8 {
        case wake = 0x77
        case resized = 0x72
        /// The program goes on after a stop.
        case continued = 0x63
        /// The program is to stop, as `kill -TSTP` says it.
        case stop = 0x74
    }

    // Signals that end the program are not among them: the program cancels the session, and knows which signal it was.
    private static let signals = [SIGWINCH, SIGCONT, SIGTSTP]

    /// Handles the signals from now on: each becomes a letter that is written to this pipe.
    static func begin(writingTo descriptor: Int32) {
        pipe.pointee = descriptor
        for number in signals { ccurses_on_signal(number, writeLetter) }
    }

    static func end() {
        for number in signals { signal(number, SIG_DFL) }
        pipe.pointee = -1
    }

    /// Lets the next SIGTSTP stop the program, or no longer.
    static func allowStop(_ isAllowed: Bool) {
        if isAllowed { signal(SIGTSTP, SIG_DFL) } else { ccurses_on_signal(SIGTSTP, writeLetter) }
    }

    /// Never freed: a signal may come at any time. Written before the handlers are there and after they are gone.
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
