import CommandLineKit
import DirectorySearch
import LodgePlatform
import TerminalBrowser

/// Writes users to a new file.
@MainActor struct BrowseExport {
    let environment: [String: String]
    /// Random letters for the name of a temporary file.
    let suffix: String

    /// Writes a new file.
    ///
    /// - Throws: ``CommandError`` if the file exists or cannot be written.
    func write(_ users: [User], to file: String, _ format: BrowseExportFormat) throws {
        guard
            case .failure(let failure) = OwnerOnlyFile.create(
                path(file), try content(users, format), suffix: suffix, mode: 0o666)
        else { return }
        throw CommandError(
            .failed, "cannot write \(file)",
            reason: failure.code == EEXIST ? "the file exists; choose another name" : failure.explanation)
    }

    private func content(_ users: [User], _ format: BrowseExportFormat) throws -> [UInt8] {
        let format: OutputFormat =
            switch format {
            case .vCard: .vCard
            case .csv: .csv
            case .json: .json
            }
        let output = CapturedOutput()
        let console = Console(program: Program.name, output: output, errorOutput: output)
        let fields = UserQuery.defaultProperties
        let writer = format.list(UserRecord.columns(fields, format), console)
        for user in users { try writer.write(UserRecord(user: user, fields: fields)) }
        try writer.finish()
        try console.flush()
        return output.bytes
    }

    /// Returns the path of a file; `~/` is the home folder.
    private func path(_ file: String) -> String {
        guard file.hasPrefix("~/"), let home = environment["HOME"], home.hasPrefix("/") else { return file }
        return home + file.dropFirst(1)
    }
}
