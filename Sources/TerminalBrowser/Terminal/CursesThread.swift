import LodgePlatform
import CNCurses

/// The thread of the terminal, on which all ncurses calls run.
actor CursesThread {
    private let thread = SerialThread()
    private let commands: TerminalCommands
    private let inbox: EventQueue
    private let environment: [String: String]
    private var keys = TerminalKeys()
    private var drawing: CursesDrawing
    private var graphics: TerminalGraphics
    private var isGone = false
    /// Whether this program has set the modes and the screen of the terminal. Otherwise it must not restore them.
    private var holdsTerminal = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The time in milliseconds to wait for the rest of an escape sequence. A slow connection may deliver it late.
    private static let escapeDelay: Int32 = 25
    /// The time to wait for the end of a paste.
    private static let pasteDelay: Int32 = 1000
    /// The time to wait for a stop signal to take effect.
    ///
    /// The system does not stop a program without a shell to continue it.
    private static let stopDelay: Int32 = 500
    /// The number of stop signals to send in the background before giving up.
    private static let stopAttempts = 4
    /// The time to wait for the terminal's reply to a query.
    private static let responseDelay: Int32 = 200

    init(_ commands: TerminalCommands, _ inbox: EventQueue, isUnicode: Bool, environment: [String: String]) {
        self.commands = commands
        self.inbox = inbox
        self.environment = environment
        drawing = CursesDrawing(isUnicode: isUnicode)
        graphics = TerminalGraphics(environment: environment, isUnicode: isUnicode)
    }

    /// Initializes the terminal if it can be used.
    ///
    /// In the background it writes nothing and stops the program until it is in the foreground.
    func begin(usesColor: Bool) throws -> Bool {
        TerminalForeground.prepareThread()
        TerminalSignals.begin(writingTo: commands.signalDescriptor)
        var isTaken = false
        defer { if !isTaken { TerminalSignals.end() } }
        switch waitForForeground(isContinued: false) {
        case .ours: break
        case .ending: throw CancellationError()
        case .unreachable: throw TerminalError.background
        }
        TerminalRestoration.rememberModes()
        guard ccurses_begin() != 0 else { return false }
        isTaken = true
        holdsTerminal = true
        TerminalRestoration.arm(TerminalRestoration.bytes(after: Self.pasteOff))
        // Repeated, because ncurses installs its own handlers.
        TerminalSignals.begin(writingTo: commands.signalDescriptor)
        drawing.begin(colors: usesColor ? Int(ccurses_begin_colors()) : 0)
        graphics.colors = drawing.palette.colors
        write(Self.pasteOn)
        publishSize()
        return true
    }

    private static let pasteOn = "\u{1B}[?2004h"
    private static let pasteOff = "\u{1B}[?2004l"

    /// Returns whether the terminal shows pictures. Keys typed during the query are not lost.
    func canShowPictures() -> Bool {
        guard let query = graphics.query else { return false }
        ensureTerminal()
        guard holdsTerminal else { return false }
        write(query)
        let end = ContinuousClock.now + .milliseconds(Int(Self.responseDelay))
        while !graphics.hasResponse {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero, !isGone else { break }
            let milliseconds = Int32(
                left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000)
            wait(milliseconds + 1)
        }
        return graphics.isAvailable
    }

    /// Draws screens and reads keys until the terminal is closed.
    func run() {
        while true {
            ensureTerminal()
            let waiting = commands.take()
            if waiting.closes { break }
            if holdsTerminal { show(waiting) }
            if waiting.suspends {
                stop()
                // Handle pending commands first: their byte may already be read.
                continue
            }
            wait(nil)
        }
        giveBack()
        TerminalSignals.end()
    }

    private func show(_ waiting: TerminalCommands.Waiting) {
        if waiting.redraws { drawing.forget() }
        if let screen = waiting.screen ?? (waiting.redraws ? drawing.shown : nil) {
            let erased = drawing.draw(screen)
            graphics.draw(screen.picture, erased, drawing) { write($0) }
        }
        for text in waiting.copies {
            write(OSC52.sequence(for: text, isInTmux: environment["TMUX"]?.isEmpty == false))
        }
    }

    // MARK: Releasing and reacquiring the terminal

    private func giveBack() {
        let isOurs = holdsTerminal && TerminalForeground.isOurs
        graphics.clear { if isOurs { write($0) } }
        if isOurs {
            write(Self.pasteOff)
            ccurses_end()
        }
        holdsTerminal = false
        TerminalRestoration.disarm()
    }

    /// Ensures that the program writes nothing in the background, where a shell puts it after a stop.
    private func ensureTerminal() {
        guard !isGone, !commands.isClosing, !holdsTerminal || !TerminalForeground.isOurs else { return }
        takeAgain()
    }

    /// Reacquires the terminal when the program is in the foreground, unless the program is to end.
    private func takeAgain() {
        switch waitForForeground(isContinued: true) {
        case .ours: break
        case .ending: return
        // No shell can bring the program to the foreground, so treat the terminal as closed.
        case .unreachable: return hangUp()
        }
        holdsTerminal = true
        TerminalRestoration.arm(TerminalRestoration.bytes(after: Self.pasteOff))
        ccurses_resume()
        write(Self.pasteOn)
        publishSize()
        inbox.post(.resumed)
    }

    /// Stops the process group and returns when it is continued.
    private func stop() {
        giveBack()
        TerminalSignals.allowStop(true)
        kill(0, SIGTSTP)
        // Another thread may receive the signal. This one runs until then.
        var input = pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, Self.stopDelay) > 0 {
            let letters = commands.letters()
            if letters.contains(TerminalSignals.Letter.continued.rawValue) { break }
        }
        TerminalSignals.allowStop(false)
        takeAgain()
    }

    private enum Foreground { case ours, ending, unreachable }

    /// Stops the program, and again each time it is continued in the background.
    ///
    /// - Parameter isContinued: whether the program was just continued, perhaps to end: a shell sends SIGTERM, then
    ///   SIGCONT. The first stop waits for that.
    private func waitForForeground(isContinued: Bool) -> Foreground {
        if !TerminalForeground.isOurs {
            // The foreground program has set the modes, so there is nothing to restore, not even after a crash.
            holdsTerminal = false
            TerminalRestoration.disarm()
        }
        if isContinued { _ = isContinuedInBackground() }
        var attempts = 0
        while !TerminalForeground.isOurs {
            if isEnding { return .ending }
            guard attempts < Self.stopAttempts else { return .unreachable }
            TerminalForeground.stop()
            attempts = isContinuedInBackground() ? 0 : attempts + 1
        }
        return isEnding ? .ending : .ours
    }

    private var isEnding: Bool { isGone || commands.isClosing || Task.isCancelled }

    /// Waits briefly in the background for a request to end. Returns whether the program was continued.
    private func isContinuedInBackground() -> Bool {
        var isContinued = false
        let end = ContinuousClock.now + .milliseconds(Int(Self.stopDelay))
        while !TerminalForeground.isOurs, !isEnding, ContinuousClock.now < end {
            // Polled, because a cancelled task writes no byte.
            var input = pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&input, 1, 10) > 0 else { continue }
            let letters = commands.letters()
            if letters.contains(TerminalSignals.Letter.continued.rawValue) { isContinued = true }
        }
        return isContinued
    }

    private func hangUp() {
        isGone = true
        inbox.end()
    }

    // MARK: Waiting

    /// Waits for keys and bytes, at most the given number of milliseconds, and posts the events.
    private func wait(_ limit: Int32?) {
        let isHeld = isGone || inbox.isFull
        var sources = [
            pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0),
            // `poll` ignores a negative descriptor.
            pollfd(fd: isHeld ? -1 : 0, events: Int16(POLLIN), revents: 0),
        ]
        var patience = limit ?? -1
        if keys.isWaiting || keys.isPasting {
            let delay = keys.isPasting ? Self.pasteDelay : Self.escapeDelay
            patience = patience < 0 ? delay : min(patience, delay)
        } else if isHeld, !isGone {
            patience = 10
        }
        let ready = poll(&sources, 2, patience)
        if ready == 0 { post(keys.flush()) }
        guard ready > 0 else { return }
        if sources[0].revents != 0 { read(commands.letters()) }
        if sources[1].revents != 0 { readKeys() }
    }

    private func readKeys() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        do throws(SystemError) {
            let count = try FileDescriptor.read(0, into: &bytes)
            if count > 0 { return post(keys.take(bytes[..<count])) }
            hangUp()
        } catch {
            // A program that was just moved to the background also gets EIO.
            if error.code != EAGAIN, TerminalForeground.isOurs { hangUp() }
        }
    }

    private func post(_ inputs: [TerminalInput]) {
        var events: [BrowseEvent] = []
        for input in inputs {
            switch input {
            case .key(let key): events.append(.key(key))
            case .report(let report): graphics.take(report)
            }
        }
        inbox.post(events)
    }

    private func read(_ letters: Set<UInt8>) {
        func has(_ letter: TerminalSignals.Letter) -> Bool { letters.contains(letter.rawValue) }
        if has(.stop) { stop() }
        // A signal stopped the program, and another program may have changed the modes since then.
        if has(.continued) { takeAgain() }
        if has(.resized) { publishSize() }
    }

    /// Reads the terminal's size and posts it.
    private func publishSize() {
        var (columns, rows, width, height): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
        if ccurses_terminal_size(&columns, &rows, &width, &height) != 0 {
            ccurses_resize(columns, rows)
            graphics.cell = width > 0 && height > 0 ? (Int(width / columns), Int(height / rows)) : nil
        }
        ccurses_current_size(&columns, &rows)
        drawing.forget()
        inbox.post(.resized(ScreenSize(columns: Int(columns), rows: Int(rows))))
    }

    private func write(_ text: String) {
        if !isGone { try? FileDescriptor.write(1, Array(text.utf8)[...]) }
    }
}
