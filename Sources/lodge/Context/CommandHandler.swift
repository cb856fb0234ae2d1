import CommandLineKit

/// The code of a command for one command line.
@MainActor
protocol CommandHandler {
    var context: CommandContext { get }
}

extension CommandHandler {
    var invocation: Invocation { context.invocation }
    var console: Console { context.console }
    var format: OutputFormat { OutputFormat(context.invocation) }

    /// Writes a list in the format of the command line.
    func list(_ records: [any OutputRecord], _ columns: [TableColumn]) throws(OutputError) {
        let writer = format.list(columns, console)
        for record in records { try writer.write(record) }
        try writer.finish()
    }

    /// Writes one record in the format of the command line.
    func show(_ record: some OutputRecord) throws(OutputError) { try format.show(record, console) }
}
