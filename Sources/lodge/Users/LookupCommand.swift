import Platform
import CommandLineKit
import DirectorySearch
import OAuth2AccountStore

@MainActor struct LookupCommand: CommandHandler {
    enum Input {
        static let file = Argument.optional("FILE", "file with the names", completion: .file)
        static let fields = Option.text("fields", "A,B", "fields to show, by Graph's names", completion: .field)
    }

    nonisolated static let command = Command(
        "lookup", "Look many people up, one a line.",
        discussion: """
            A line is an identifier, a user principal name or a mail address. Without FILE they are read from standard input, as they come: \
            there may be any number of them. The answers come in the order of the names. Names that nobody has are \
            told on standard error, and the exit status is then 3.
            """,
        examples: ["lodge lookup names.txt --output csv", "cut -d, -f2 list.csv | lodge lookup --output jsonl"],
        arguments: [Input.file], options: [Input.fields], formats: OutputFormat.allCases
    ) { try await LookupCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let lines = try lines()
        guard let first = try await Names.next(of: lines) else {
            throw CommandError(
                .usage, "there is no name to look up", reason: "expected one a line",
                hint: "echo ada@contoso.com | \(run: "lookup")")
        }
        let fields = try context.shownFields(format, Input.fields)
        let select = try context.fields(Input.fields) ?? UserQuery.defaultProperties
        let directory = try await context.directory()
        let writer = format.list(UserRecord.columns(fields, format), console)
        let line = console.terminal.outputIsTerminal ? nil : ProgressLine(console)
        var status = ExitStatus.done
        var (written, answered) = (0, 0)
        var hint: Hint?
        var waiting: String? = first
        do {
            while let name = waiting {
                for try await lookup in directory.lookUp(Names(first: name, lines: lines), select: select) {
                    answered += 1
                    line?.show(answered, of: nil, "names")
                    switch lookup.result {
                    case .success(let user):
                        try writer.write(UserRecord(user: user, fields: fields))
                        written += 1
                        if written % 20 == 0 { try writer.flush() }
                    case .failure(let error):
                        // Every name is told, whatever became of those before; the first that failed decides the status.
                        let failed = report(lookup.name, error, after: &hint)
                        if status == .done || status == .notFound { status = failed }
                    }
                }
                // Nobody waits for an answer because the next name is not there yet.
                try writer.flush()
                waiting = try await Names.next(of: lines)
            }
        } catch {
            if written > 0 { try writer.finish() }
            throw error
        }
        line?.clear()
        try writer.finish()
        return status
    }

    /// Reports why a name has no result, and returns the status for it. `--quiet` leaves out names without a user, not errors.
    /// A hint that repeats the last one is left out.
    private func report(_ name: String, _ error: DirectoryError, after hint: inout Hint?) -> ExitStatus {
        guard error.kind != .notFound else {
            if !console.options.reportsJSON {
                console.note("Nobody is found for \(name).")
            } else if console.options.verbosity >= .normal {
                console.report(CommandError(.notFound, "nobody is found for \(name)"))
            }
            return .notFound
        }
        var failure = CommandError(reporting: error, type: invocation[GlobalOptions.type])
        failure.message = "\(name): \(failure.message)"
        let isRepeated = failure.hint == hint
        hint = failure.hint
        if isRepeated, !console.options.reportsJSON { failure.hint = nil }
        console.report(failure)
        return failure.status
    }

    private func lines() throws -> LineReader {
        if let path = invocation[Input.file], path != "-" { return try LineReader(path: path) }
        return context.world.inputLines()
    }
}

/// The lines with text, trimmed, read on demand until the next one is late.
private struct Names: AsyncSequence, Sendable {
    typealias Element = String

    private static let patience = Duration.milliseconds(50)

    let first: String
    let lines: LineReader

    func makeAsyncIterator() -> Iterator { Iterator(first: first, lines: lines) }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        var first: String?
        let lines: LineReader

        mutating func next() async throws -> String? {
            defer { first = nil }
            if let first { return first }
            while try await lines.isReady(within: Names.patience), let line = try await lines.next() {
                if let name = Names.name(line) { return name }
            }
            return nil
        }
    }

    @MainActor
    static func next(of lines: LineReader) async throws -> String? {
        while let line = try await lines.next() {
            if let name = name(line) { return name }
        }
        return nil
    }

    private static func name(_ line: String) -> String? {
        let start = line.unicodeScalars.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
        let name = start.reversed().drop { $0.properties.isWhitespace }.reversed()
        return name.isEmpty ? nil : String(String.UnicodeScalarView(name))
    }
}
