import DirectorySearch
import OAuth2AccountStore

/// `lookup`
@MainActor
struct LookupCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        let lines = try lines()
        guard let first = try await Names.next(of: lines) else {
            throw CommandError(
                .usage, "there is no name to look up", reason: "expected one a line",
                hint: "echo ada@contoso.com | directory lookup")
        }
        let format = OutputFormat(context.invocation)
        let fields = try context.shownFields(format)
        let lookups = try await context.directory()
            .lookUp(Names(first: first, lines: lines), select: try context.fields() ?? UserQuery.defaultProperties)
        let writer = format.list(PersonRecord.columns(fields, format), context.console)
        let line = context.console.terminal.outputIsTerminal ? nil : ProgressLine(context.console)
        var status = ExitStatus.done
        var (written, answered) = (0, 0)
        do {
            for try await lookup in lookups {
                answered += 1
                line?.show(answered, of: nil, "names")
                switch lookup.result {
                case .success(let user):
                    try writer.write(PersonRecord(user: user, fields: fields))
                    written += 1
                    if written % 20 == 0 { try writer.flush() }
                case .failure(let error):
                    status = status == .done || status == .notFound ? report(lookup.name, error) : status
                }
            }
        } catch {
            if written > 0 { try writer.finish() }
            throw error
        }
        line?.clear()
        try writer.finish()
        return status
    }

    /// Says why there is nobody, and gives the status that this alone would end with.
    private func report(_ name: String, _ error: DirectoryError) -> ExitStatus {
        guard error.kind != .notFound else {
            context.console.note("Nobody is found for \(name).")
            return .notFound
        }
        let failure = CommandError(reporting: error)
        context.console.note("\(name): \(failure.message).")
        return failure.status
    }

    private func lines() throws -> LineReader {
        if let path = context.invocation.argument("FILE"), path != "-" { return try LineReader(path: path) }
        return context.world.inputLines()
    }
}

/// The lines that are not blank, without white space around them, read as they are needed.
private struct Names: AsyncSequence, Sendable {
    typealias Element = String

    let first: String
    let lines: LineReader

    func makeAsyncIterator() -> Iterator { Iterator(first: first, lines: lines) }

    struct Iterator: AsyncIteratorProtocol, Sendable {
        var first: String?
        let lines: LineReader

        mutating func next() async throws -> String? {
            defer { first = nil }
            if let first { return first }
            return try await Names.next(of: lines)
        }
    }

    @MainActor
    static func next(of lines: LineReader) async throws -> String? {
        while let line = try await lines.next() {
            let text = line.unicodeScalars
            let start = text.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
            let end = start.reversed().drop { $0.properties.isWhitespace }.reversed()
            if !end.isEmpty { return String(String.UnicodeScalarView(end)) }
        }
        return nil
    }
}
