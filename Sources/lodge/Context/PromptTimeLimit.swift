import CommandLineKit
import OAuth2AccountStore

extension CommandContext {
    private typealias ReadLine = @MainActor @Sendable (_ limit: Int) async throws -> String?

    /// Returns the context of a sign-in whose prompts end after `--timeout`.
    ///
    /// Each prompt gets the full time, because it is for the user.
    func limitingPrompts() -> CommandContext {
        guard let limit = invocation[GlobalOptions.timeout] else { return self }
        var world = world
        world.readLine = Self.limit(world.readLine, to: limit)
        world.readHiddenLine = Self.limit(world.readHiddenLine, to: limit)
        return CommandContext(command: command, invocation: invocation, world: world)
    }

    private static func limit(_ read: @escaping ReadLine, to limit: Duration) -> ReadLine {
        { maximum in
            let reading = Task { try await read(maximum) }
            // Reading the input can block the main thread, so the timer runs on another one.
            let timer = Task.detached {
                try await Task.sleep(for: limit)
                reading.cancel()
            }
            defer { timer.cancel() }
            do {
                return try await withTaskCancellationHandler {
                    try await reading.value
                } onCancel: {
                    reading.cancel()
                }
            } catch is CancellationError where !Task.isCancelled {
                throw CommandError(
                    .signInNeeded, "the sign-in was not finished", reason: "no input within \(TimeText.seconds(limit))",
                    hint: "to have more time, run the command again with a longer --timeout")
            }
        }
    }
}
