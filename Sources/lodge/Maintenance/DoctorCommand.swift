import AgentProtocol
import CommandLineKit
import Diagnostics
import LodgeAgent
import OAuth2AccountStore
import StrictJSON

@MainActor
struct DoctorCommand: CommandHandler {
    enum Input {
        static let offline = Option.flag("offline", "do not use the network")
    }

    nonisolated static let command = Command(
        "doctor", "Diagnose sign-in problems.",
        discussion: """
            doctor checks settings, proxy, store, key, locks, sign-ins, the redirect's port, network, discovery, client, clock and agent. It \
            changes no file and sends no secret: only a sign-in checks the client secret. The exit status is 0 if there \
            are only warnings, otherwise the status of the worst problem.
            """, examples: ["lodge doctor", "lodge doctor --output json"], options: [Input.offline],
        json: .array(of: [
            "check": "name", "state": "ok, warning or problem", "found": "", "of": "object of the check",
            "remedy": "", "status": "exit status of a problem",
        ])
    ) { try await DoctorCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let diagnosis = try await diagnose()
        let remedyText = invocation.remedyText
        let findings = diagnosis.findings + [agentFinding()].compactMap { $0 }
        let records = findings.map { DiagnosisRecord(finding: $0, remedyText: remedyText) }
        if format == .table, console.terminal.outputIsTerminal {
            for record in records {
                for line in record.paragraph(width: console.terminal.columns) { try console.writeLine(line) }
            }
        } else {
            try list(records, DiagnosisRecord.columns)
        }
        let statuses = diagnosis.problems.map { DiagnosisRecord(finding: $0).status }
        let warnings = findings.count { $0.state == .warning }
        console.note(Self.summary(problems: statuses.count, warnings: warnings))
        return statuses.max { $0.rawValue < $1.rawValue } ?? .done
    }

    /// Runs the checks. Invalid or missing settings are a finding; the checks that do not need them still run.
    private func diagnose() async throws -> Diagnosis {
        let storage = try context.storage()
        let settings: Settings
        do {
            settings = try context.settings()
        } catch {
            return try await Diagnosis.examine(
                without: Self.failure(error), storage: storage, keyLocations: try context.keyLocations(),
                dependencies: context.dependencies())
        }
        let type = invocation[GlobalOptions.type]
        if let type, !settings.typeNames.contains(type) { throw CommandError(unknownType: type, in: settings) }
        return try await Diagnosis.examine(
            settings: settings, storage: storage, keyLocations: try context.keyLocations(),
            dependencies: context.dependencies(), type: type, usesNetwork: !invocation[Input.offline])
    }

    /// Returns the state of the agent, or `nil` if it is not in use.
    private func agentFinding() -> Diagnosis.Finding? {
        let isAutomatic = (try? context.settingsOfFile())?.agent.startsAutomatically ?? false
        do throws(AgentSocket.Problem) {
            let path = try AgentRules.socket(context.world.variable)
            switch try context.world.askAgent(AgentRequest.line("status"), [], path) {
            case .status(let status)?:
                let version = status["version"]?.string ?? ""
                if status["locked"] == true {
                    return Diagnosis.Finding(
                        .agent, .warning, "version \(version) is locked", remedy: "\(run: "agent unlock")")
                }
                return version == Program.version
                    ? Diagnosis.Finding(.agent, .ok, "version \(version) listens on \(path)")
                    : Diagnosis.Finding(
                        .agent, .warning, "it has version \(version), and this program \(Program.version)",
                        remedy: "\(run: "agent stop")")
            default:
                return Diagnosis.Finding(
                    .agent, .warning, "it does not respond on \(path)", remedy: "end its process and start it again")
            }
        } catch {
            switch error {
            case .missing, .notListening: return nil
            case .noPath where !isAutomatic: return nil
            case .noPath, .tooLong, .notASocket, .unsafe, .otherUser:
                let failure = CommandError(error, "the agent cannot run")
                return Diagnosis.Finding(.agent, .warning, failure.reason ?? failure.message, remedy: failure.hint)
            }
        }
    }

    /// Returns the error that commands report for unusable settings.
    private static func failure(_ error: any Error) -> AccountStoreError {
        let error = CommandError(reporting: error)
        return AccountStoreError(
            .settings, what: error.message, reason: error.reason ?? error.message, remedy: .changeSettings,
            hint: error.hint)
    }

    private static func summary(problems: Int, warnings: Int) -> String {
        func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
        if problems == 0, warnings == 0 { return "No problems found." }
        return "\(count(problems, "problem")), \(count(warnings, "warning"))."
    }
}

struct DiagnosisRecord: OutputRecord {
    let finding: Diagnosis.Finding
    var remedyText = RemedyText()

    static let columns = [
        TableColumn("CHECK"), TableColumn("STATE"), TableColumn("OF"), TableColumn("FOUND", .wrap),
        TableColumn("REMEDY", .wrap),
    ]

    /// The exit status of a command that fails because of this problem.
    var status: ExitStatus { finding.failure.map { CommandError(reporting: $0).status } ?? .failed }

    var remedy: String? {
        guard finding.state != .ok else { return nil }
        return (finding.remedy ?? finding.failure.flatMap { CommandError(reporting: $0).hint })
            .map { remedyText.hint($0).description }
    }

    /// Returns the state, the check with its result, and below them the complete remedy.
    func paragraph(width: Int) -> [String] {
        let indent = 9
        let subject = finding.subject.map { " (\($0))" } ?? ""
        var lines = TerminalText.wrapped(
            TerminalText.cell("\(finding.check.rawValue)\(subject): \(finding.detail)"), to: max(8, width - indent),
            limit: .max)
        if let remedy {
            lines += TerminalText.wrapped(
                TerminalText.cell("remedy: \(remedy)"), to: max(8, width - indent), limit: .max)
        }
        return lines.enumerated().map { index, line in
            TerminalText.padded(index == 0 ? finding.state.rawValue : "", to: indent) + line
        }
    }

    var cells: [String] {
        [finding.check.rawValue, finding.state.rawValue, finding.subject ?? "", finding.detail, remedy ?? ""]
    }

    var json: JSONValue {
        var object: JSONObject = [
            "check": .string(finding.check.rawValue), "state": .string(finding.state.rawValue),
            "found": .string(finding.detail),
        ]
        if let subject = finding.subject { object.append("of", .string(subject)) }
        if let remedy { object.append("remedy", .string(remedy)) }
        if finding.state == .problem { object.append("status", .number(JSONNumber(Int64(status.rawValue)))) }
        return .object(object)
    }
}
