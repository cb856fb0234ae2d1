import LodgePlatform
import CNCurses

/// The terminal of this process: ncurses on its own thread, which waits for keys and for a byte in a pipe.
///
/// The byte announces commands, so that callers never wait for the terminal. A process has one.
package final class CursesTerminal: BrowseTerminal {
    package let showsPictures: Bool
    private let commands: TerminalCommands
    private let ended: Task<Void, Never>

    /// The maximum time to wait at the end for a terminal that reads no more output.
    private static let patience = Duration.seconds(2)

    /// Opens the terminal. The first event in the queue is its size.
    ///
    /// - Throws: ``TerminalError`` if terminfo does not know the terminal, it cannot move its cursor, or the program
    ///   stays in the background. `CancellationError` if the program must end before that.
    @MainActor package static func open(into inbox: EventQueue, environment: [String: String], usesColor: Bool)
        async throws -> CursesTerminal
    {
        let name = environment["TERM"] ?? ""
        guard !name.isEmpty, name != "dumb" else { throw TerminalError.unusable(name: name) }
        guard let commands = TerminalCommands() else { throw TerminalError.system(errno) }
        TerminalRestoration.prepare()
        let isUnicode = ccurses_use_locale() != 0
        let thread = CursesThread(commands, inbox, isUnicode: isUnicode, environment: environment)
        do {
            guard try await thread.begin(usesColor: usesColor) else { throw TerminalError.unusable(name: name) }
        } catch {
            TerminalRestoration.finish()
            throw error
        }
        return CursesTerminal(commands, thread, showsPictures: await thread.canShowPictures())
    }

    private init(_ commands: TerminalCommands, _ thread: CursesThread, showsPictures: Bool) {
        self.commands = commands
        self.showsPictures = showsPictures
        ended = Task { await thread.run() }
    }

    package func draw(_ screen: Screen) { commands.send { $0.screen = screen } }
    package func redraw() { commands.send { $0.redraws = true } }
    package func suspend() { commands.send { $0.suspends = true } }
    // Keep only a few: only the last copied text can be pasted.
    package func copy(_ text: String) { commands.send { $0.copies = $0.copies.suffix(3) + [text] } }

    package func close() async {
        commands.send { $0.closes = true }
        let ended = ended
        let isClosed = await withCheckedContinuation { continuation in
            let once = Once()
            Task {
                await ended.value
                once.run { continuation.resume(returning: true) }
            }
            Task {
                try? await Task.sleep(for: Self.patience)
                once.run { continuation.resume(returning: false) }
            }
        }
        if !isClosed { TerminalRestoration.restore() }
        TerminalRestoration.finish()
    }
}
