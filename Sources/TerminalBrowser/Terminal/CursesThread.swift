import Platform
import CNCurses

/// The thread of the terminal: everything that ncurses does is done here.
actor CursesThread {
    private let thread = SerialThread()
    private let commands: TerminalCommands
    private let inbox: EventQueue
    private let environment: [String: String]
    private var keys = TerminalKeys()
    private var drawing: CursesDrawing
    private var graphics: TerminalGraphics
    private var isGone = false
    /// Whether the terminal's modes and its screen are this program's. What is not held is not given back: it is somebody else's.
    private var holdsTerminal = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// How long an escape may be the beginning of a key, in milliseconds: on a slow connection the rest comes later.
    private static let escapeDelay: Int32 = 25
    /// How long the end of a paste is waited for.
    private static let pasteDelay: Int32 = 1000
    /// How long a program that was told to stop may run on: where nothing can continue it, the system does not stop it.
    private static let stopDelay: Int32 = 500
    /// How often it is told so in the background before that is taken for certain.
    private static let stopAttempts = 4
    /// How long the terminal may take to say what it can show.
    private static let responseDelay: Int32 = 200

    init(_ commands: TerminalCommands, _ inbox: EventQueue, isUnicode: Bool, environment: [String: String]) {
        self.commands = commands
        self.inbox = inbox
        self.environment = environment
        drawing = CursesDrawing(isUnicode: isUnicode)
        graphics = TerminalGraphics(environment: environment, isUnicode: isUnicode)
    }

    /// Takes the terminal, if it can be used. In the background nothing is written, and the program stops until it is in the foreground.
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
        // Again: ncurses has handlers of its own, and puts them there.
        TerminalSignals.begin(writingTo: commands.signalDescriptor)
        drawing.begin(colors: usesColor ? Int(ccurses_begin_colours()) : 0)
        graphics.colors = drawing.palette.colors
        write(Self.pasteOn)
        publishSize()
        return true
    }

    private static let pasteOn = "\u{1B}[?2004h"
    private static let pasteOff = "\u{1B}[?2004l"

    /// Asks the terminal whether it shows pictures. Keys that come meanwhile are keys.
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

    /// Shows screens and reads keys until it is told to close.
    func run() {
        while true {
            ensureTerminal()
            let waiting = commands.take()
            if waiting.closes { break }
            if holdsTerminal { show(waiting) }
            if waiting.suspends {
                stop()
                // What came meanwhile is done first: its letter may have been read.
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

    // MARK: Giving it back, taking it again

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

    /// Sees to it that nothing is written in the background, where a shell puts the program after a stop.
    private func ensureTerminal() {
        guard !isGone, !commands.isClosing, !holdsTerminal || !TerminalForeground.isOurs else { return }
        takeAgain()
    }

    /// Takes the terminal as soon as the program is in the foreground; not at all when it is to end.
    private func takeAgain() {
        switch waitForForeground(isContinued: true) {
        case .ours: break
        case .ending: return
        // Nobody is there to bring the program to the foreground again: as good as a terminal that is gone.
        case .unreachable: return hangUp()
        }
        holdsTerminal = true
        TerminalRestoration.arm(TerminalRestoration.bytes(after: Self.pasteOff))
        ccurses_resume()
        write(Self.pasteOn)
        publishSize()
        inbox.post(.resumed)
    }

    /// Stops the program and everything that was started with it, and comes back when it is continued.
    private func stop() {
        giveBack()
        TerminalSignals.allowStop(true)
        kill(0, SIGTSTP)
        // Another thread may be the one that takes the signal: this one goes on until then.
        var input = pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&input, 1, Self.stopDelay) > 0 {
            let letters = commands.letters()
            if letters.contains(TerminalSignals.Letter.continued.rawValue) { break }
        }
        TerminalSignals.allowStop(false)
        takeAgain()
    }

    private enum Foreground { case ours, ending, unreachable }

    /// Stops the program, as often as it is continued in the background.
    ///
    /// - Parameter isContinued: whether it was continued just now, perhaps to end: a shell sends SIGTERM, then SIGCONT. The first stop
    ///   waits for that.
    private func waitForForeground(isContinued: Bool) -> Foreground {
        if !TerminalForeground.isOurs {
            // Whoever has it now has set the modes: there is nothing to give back, not even after a crash.
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

    /// Waits a while in the background for a demand to end, and gives whether the program was continued meanwhile.
    private func isContinuedInBackground() -> Bool {
        var isContinued = false
        let end = ContinuousClock.now + .milliseconds(Int(Self.stopDelay))
        while !TerminalForeground.isOurs, !isEnding, ContinuousClock.now < end {
            // Cut up: a task that is cancelled writes no letter.
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

    /// Waits for keys and letters, at most so many milliseconds, and posts what has come.
    private func wait(_ limit: Int32?) {
        let isHeld = isGone || inbox.isFull
        var sources = [
            pollfd(fd: commands.descriptor, events: Int16(POLLIN), revents: 0),
            // A number below zero is passed over.
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
            // EIO is also the answer to a program that was put into the background a moment ago.
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
        // Somebody stopped the program from outside, and whoever had the terminal meanwhile may have changed it.
        if has(.continued) { takeAgain() }
        if has(.resized) { publishSize() }
    }

    /// Takes the terminal's size, and tells it.
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
