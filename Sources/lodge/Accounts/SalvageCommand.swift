import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

@MainActor
struct SalvageCommand: CommandHandler {
    enum Input {
        static let replace = Option.flag("replace", "replace the damaged file with the copy")
    }

    nonisolated static let command = Command(
        "salvage", "Copy the readable accounts of a damaged store.",
        discussion: """
            The copy is a new file in the same folder; the damaged file is unchanged. With --replace, lodge renames the damaged file \
            and uses the copy: first end other programs that use the store. The exit status is 1 if an account was lost.
            """, examples: ["lodge accounts salvage", "lodge accounts salvage --replace"], options: [Input.replace],
        formats: OutputFormat.ofSentences,
        json: .object(
            [
                "file": "of the copy", "records": "number", "lost": "number",
                "opening": "number that the key decrypts", "damaged": "file, with --replace",
            ], note: "{} if the store is not damaged")
    ) { try await SalvageCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let storage = try context.fileStorage(for: "salvage the store")
        // A check must not create a store, or a copy of an undamaged one.
        guard FileManager.default.fileExists(atPath: storage.location) else {
            throw CommandError(
                .notFound, "there is no store", reason: "\(storage.location) does not exist", hint: "\(run: "accounts")"
            )
        }
        if let errors = try? await storage.errors(), errors.isEmpty {
            console.note("The store is not damaged, so there is nothing to salvage. \(storage.location)")
            if format == .json { try console.write([:]) }
            return .done
        }
        let report = try await AccountStore.salvage(storage, locations: try context.keyLocations())
        var damagedFile: String?
        if invocation[Input.replace] {
            damagedFile = try await AccountStore.use(report, inPlaceOf: storage)
        }
        try write(report, location: damagedFile == nil ? report.path : storage.location, damagedFile)
        if damagedFile == nil {
            console.note(
                "To use the copy: end other programs that use the store, remove \(report.path), then "
                    + context.text("\(run: "accounts salvage")") + " --replace")
        }
        // A record that the key cannot decrypt is lost too.
        let lost = report.lost + max(0, report.records - (report.opening ?? report.records))
        guard lost > 0 else { return .done }
        console.instruct(
            lost == 1
                ? "1 account is lost. To restore it, sign in again."
                : "\(lost) accounts are lost. To restore them, sign in again.")
        return .failed
    }

    private func write(_ report: SalvageReport, location: String, _ damagedFile: String?) throws {
        if console.options.reportsJSON {
            var object: JSONObject = [
                "file": .string(location), "records": .number(JSONNumber(Int64(report.records))),
                "lost": .number(JSONNumber(Int64(report.lost))),
            ]
            if let opening = report.opening { object.append("opening", .number(JSONNumber(Int64(opening)))) }
            if let damagedFile { object.append("damaged", .string(damagedFile)) }
            return try console.write(.object(object))
        }
        var detail = Detail()
        detail.add("Copy", location)
        detail.add("Damaged file", damagedFile)
        detail.add("Accounts copied", "\(report.records)")
        detail.add("Decrypted with the key", report.opening.map { "\($0)" } ?? "unknown: the key is not available")
        detail.add("Lost", "\(report.lost)")
        try detail.write(to: console)
    }
}
