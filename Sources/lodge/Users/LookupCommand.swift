import LodgePlatform
import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

@MainActor struct LookupCommand: CommandHandler {
    enum Input {
        static let file = Argument.optional(
            "FILE", "file with mail addresses, user principal names or IDs", completion: .file)
        static let fields = Option.text("fields", "A,B", "fields to show, by Graph's names", completion: .field)
    }

    nonisolated static let command = Command(
        "lookup", "Look up many users from a file or standard input.",
        discussion: """
            A line is an ID, a user principal name or a mail address. Without FILE, lookup reads standard input, of any length; \
            it skips blank lines and lines that start with #. Each line has one row, in the order of the input: the line in the column input, \
            then the fields, which are empty if there is no such user. The exit status is 3 only if no user was found.
            """,
        examples: ["lodge lookup addresses.txt --output csv", "cut -d, -f2 list.csv | lodge lookup --output jsonl"],
        arguments: [Input.file], options: [Input.fields], formats: OutputFormat.ofUsers,
        json: .array(
            of: ["input": "the line"],
            note: "Then the properties of Graph or the fields of --fields, null if there is no such user")
    ) { try await LookupCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let lines = try lines()
        let total = try total()
        guard let first = try await Names.next(of: lines) else {
            throw CommandError(
                .usage, "no names to look up", reason: "expected one per line",
                hint: "echo ada@contoso.com | \(run: "lookup")")
        }
        let chosen = try context.fields(Input.fields)
        let fields = chosen ?? (format == .table ? nil : UserQuery.defaultProperties)
        let directory = try await context.directory()
        let writer = format.list(LookupRecord.columns(fields, format), console)
        let line = console.terminal.outputIsTerminal ? nil : ProgressLine(console)
        var failure: ExitStatus?
        var (found, answered) = (0, 0)
        var hint: Hint?
        var waiting: String? = first
        do {
            while let name = waiting {
                let names = Names(first: name, lines: lines)
                for try await lookup in directory.lookUp(names, select: chosen ?? UserQuery.defaultProperties) {
                    answered += 1
                    line?.show(answered, of: total, "users")
                    var user: User?
                    switch lookup.result {
                    case .success(let value):
                        user = value
                        found += 1
                    case .failure(let error) where error.kind == .notFound:
                        // A vCard cannot represent a missing user, so print a note instead.
                        if format == .vCard { console.note("No user \(lookup.name).") }
                    case .failure(let error):
                        // Each error is reported; the first one decides the status.
                        let status = report(lookup.name, error, after: &hint)
                        failure = failure ?? status
                    }
                    try writer.write(LookupRecord(input: lookup.name, user: user, fields: fields))
                    if answered % 20 == 0 { try writer.flush() }
                }
                // Write the results before waiting for the next name.
                try writer.flush()
                waiting = try await Names.next(of: lines)
            }
        } catch {
            if answered > 0 { try writer.finish() }
            throw error
        }
        line?.clear()
        try writer.finish()
        let missing = answered - found
        if missing > 0, failure == nil {
            console.advise(
                found == 0
                    ? "No user was found." : "\(missing) of \(answered) \(missing == 1 ? "has" : "have") no user.")
        }
        return failure ?? (found == 0 ? .notFound : .done)
    }

    /// Returns the number of names, for the progress line.
    ///
    /// Returns `nil` if the names do not come from a file, or if standard error is not a terminal.
    private func total() throws -> Int? {
        guard console.terminal.errorIsTerminal, let path = invocation[Input.file],
            StandardInput.problem(ofFile: path) == nil
        else { return nil }
        return try? LineReader.count(path, where: { Names.name($0) != nil })
    }

    /// Reports an error for one name and returns the exit status of the error.
    ///
    /// Omits a hint that repeats the previous hint, except in JSON.
    private func report(_ name: String, _ error: DirectoryError, after hint: inout Hint?) -> ExitStatus {
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

/// An output row: a name from the input, and its user if the directory has one.
private struct LookupRecord: OutputRecord {
    let input: String
    let user: User?
    /// The fields of a row, or `nil` for the default columns.
    let fields: [String]?

    static func columns(_ fields: [String]?, _ format: OutputFormat) -> [TableColumn] {
        [TableColumn(format.namesMembers ? "input" : "INPUT")] + UserRecord.columns(fields, format)
    }

    private var record: UserRecord { UserRecord(user: user ?? User(), fields: fields) }

    var cells: [String] { [input] + record.cells }
    var vCard: VCard? { user.flatMap(VCard.init) }

    var json: JSONValue {
        let members = UserFields.object(of: fields ?? UserQuery.defaultProperties, in: user ?? User()).members
        return .object(JSONObject([.init(name: "input", value: .string(input))] + members))
    }
}

/// The trimmed lines of the input, without blank lines and comments.
///
/// The sequence reads on demand and ends if the next line does not arrive within `patience`. The command can then write
/// the results of the previous lines.
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

    /// Returns the name in a line, or `nil` for a blank line or a comment.
    static func name(_ line: String) -> String? {
        let start = line.unicodeScalars.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
        let name = start.reversed().drop { $0.properties.isWhitespace }.reversed()
        return name.isEmpty || name.first == "#" ? nil : String(String.UnicodeScalarView(name))
    }
}
