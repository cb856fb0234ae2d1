import DirectorySearch
import OAuth2AccountStore

/// `lookup`
@MainActor
struct LookupCommand {
    private let context: CommandContext

    /// The most bytes of names: a million of them.
    private static let maximumInput = 64 << 20

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        let names = try names()
        guard !names.isEmpty else {
            throw CommandError(
                .usage, "there is no name to look up", reason: "expected one a line",
                hint: "echo ada@contoso.com | directory lookup")
        }
        let format = OutputFormat(context.invocation)
        let fields = try context.shownFields(format)
        let lookups = try await context.directory()
            .lookUp(names, select: try context.fields() ?? UserQuery.defaultProperties)
        let writer = format.list(PersonRecord.columns(fields, format), context.console)
        let line = context.console.terminal.outputIsTerminal ? nil : ProgressLine(context.console)
        var status = ExitStatus.done
        var (written, answered) = (0, 0)
        do {
            for try await lookup in lookups {
                answered += 1
                line?.show(answered, of: names.count, "names")
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

    /// The lines of the file or of standard input that are not blank, without white space around them.
    private func names() throws -> [String] {
        let bytes: [UInt8]
        if let path = context.invocation.argument("FILE"), path != "-" {
            switch PrivateFile.read(path, maximumSize: Self.maximumInput) {
            case .success(let content): bytes = content
            case .failure(let failure):
                throw CommandError(
                    .usage, "the names cannot be read from \(path)", reason: failure.explanation,
                    hint: "name a file with one identifier, user principal name or mail address a line")
            }
        } else {
            bytes = try context.world.readInput(Self.maximumInput)
        }
        return bytes.split { $0 == 0x0A || $0 == 0x0D }.map { line in
            let text = String(decoding: line, as: UTF8.self).unicodeScalars
            let start = text.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
            let end = start.reversed().drop { $0.properties.isWhitespace }.reversed()
            return String(String.UnicodeScalarView(end))
        }.filter { !$0.isEmpty }
    }
}
