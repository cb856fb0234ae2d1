import CommandLineKit
import Platform
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

extension CommandContext {
    /// The directory of the account that the command line is about, of the kind that its type names. All waits of the command come from one budget.
    func directory(_ settings: Settings? = nil) async throws -> any UserDirectory {
        let store = try await store(try settings ?? self.settings())
        var retry = HTTPRetryPolicy.directory
        // A wait that would outlast the command ends it at once, with what the directory said.
        if let timeout = invocation[GlobalOptions.timeout] { retry.totalDelay = min(timeout, retry.totalDelay) }
        return try await account(store).directory(in: store, retry: retry, budget: RetryBudget(retry.totalDelay))
    }

    /// Where people are looked for: the account's offline copy with `--offline`, else its directory.
    ///
    /// - Parameters:
    ///   - settings: the settings, where they were read already.
    ///   - isOffline: whether `--offline` is given.
    func people(_ settings: Settings? = nil, offline isOffline: Bool) async throws -> any UserDirectory {
        isOffline ? try await offlineCopy(settings) : try await directory(settings)
    }

    /// The offline copy of the account that the command line is about.
    func offlineCopy(_ settings: Settings? = nil) async throws -> OfflineDirectory {
        let store = try await store(try settings ?? self.settings())
        let copy = OfflineDirectory(account: try await account(store).id, in: storeDirectory)
        try await tellIncomplete(copy)
        return copy
    }

    /// Says when not everybody is in the copy yet.
    func tellIncomplete(_ copy: OfflineDirectory) async throws {
        guard try await copy.summary().completed == nil else { return }
        console.note(text("The offline copy is not complete yet; \(run: "sync") goes on with it."))
    }

    /// Returns the fields that `--fields` names, or `nil` if it is not given.
    func fields(_ option: Option<String?>) throws -> [String]? {
        guard let text = invocation[option] else { return nil }
        let fields = text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
        guard !fields.isEmpty, !fields.contains("") else {
            throw CommandError(
                .usage, "--fields names no field", reason: "found \"\(text)\"",
                hint: "--fields displayName,mail")
        }
        return fields
    }

    /// The fields of a row: those that were asked for; in formats that programs read, all of them.
    func shownFields(_ format: OutputFormat, _ option: Option<String?>) throws -> [String]? {
        try fields(option) ?? (format.namesMembers ? UserQuery.defaultProperties : nil)
    }
}

@MainActor
struct PeopleCommand {
    enum Input {
        static let user = Argument.required("USER", "identifier, user principal name or mail address")
        static let manager = Option.flag("manager", "show the manager too")
        static let chain = Option.flag("chain", "show the managers up to the top too")
        static let reports = Option.flag("reports", "show who reports to the person too")
        static let groups = Option.flag("groups", "show the groups and roles of the person too")
        static let photo = Option.text("photo", "FILE", "write the photo to this file", completion: .file)
        static let fields = Option.text("fields", "A,B", "fields to show, by Graph's names", completion: .field)
        static let offline = Option.flag("offline", "look into the copy that sync keeps")
    }

    nonisolated static let meCommand = Command(
        "me", "Show the person who is signed in.", examples: ["lodge me"], formats: OutputFormat.allCases
    ) { try await PeopleCommand(context: $0).me() }

    nonisolated static let showCommand = Command(
        "show", "Show one person.", discussion: "What there is not, and what may not be seen, are told apart.",
        examples: ["lodge show ada@contoso.com", "lodge show ada@contoso.com --manager --groups --photo ada.jpg"],
        arguments: [Input.user],
        options: [Input.manager, Input.chain, Input.reports, Input.groups, Input.photo, Input.fields, Input.offline],
        formats: OutputFormat.allCases
    ) { try await PeopleCommand(context: $0).show() }

    let context: CommandContext
    private var invocation: Invocation { context.invocation }

    func me() async throws -> ExitStatus {
        let user = try await context.directory().me()
        try show(UserRecord(user: user, fields: nil), UserQuery.defaultProperties)
        return .done
    }

    func show() async throws -> ExitStatus {
        let name = invocation[Input.user]
        let select = try context.fields(Input.fields) ?? UserQuery.defaultProperties
        var parts: Set<UserDetail.PartName> = []
        for (option, part) in [
            (Input.manager, UserDetail.PartName.manager), (Input.reports, .reports), (Input.groups, .groups),
        ]
        where invocation[option] {
            parts.insert(part)
        }
        if invocation[Input.chain] { parts.remove(.manager) }
        guard invocation[Input.photo] != "-" else {
            throw CommandError(
                .usage, "--photo names a file", reason: "the person is shown on standard output, where - would be too",
                hint: "name a file, or ./- for one of this name")
        }
        if invocation[Input.offline] { return try await showKept(name, select, parts) }
        do {
            let directory = try await context.directory()
            let managers = try await chain(above: name, directory)
            if parts.isEmpty {
                var user = try await directory.user(name, select: select)
                if let managers { user.manager = managers }
                try show(UserRecord(user: user), select)
                try await savePhoto(of: user, name, directory)
            } else {
                var person = try await directory.detail(of: name, select: select, parts: parts)
                if let managers { person.user.manager = managers }
                noteUnseen(person)
                try show(PersonDetailRecord(person: person), select)
                try await savePhoto(of: person.user, name, directory)
            }
            return .done
        } catch let error as DirectoryError where error.kind == .notFound {
            throw CommandError(
                .notFound, "nobody is found for \(name)", reason: error.displayMessage,
                hint: "\(run: "search") finds people by name", code: error.code, requestID: error.requestID)
        }
    }

    /// The manager of a person with the managers above within, when they are wanted and there is one.
    private func chain(above name: String, _ directory: any UserDirectory) async throws -> User? {
        guard invocation[Input.chain] else { return nil }
        guard let directory = directory as? GraphDirectory else {
            throw CommandError(
                .usage, "this directory gives no chain of managers", reason: "only Microsoft Graph tells it at once",
                hint: "\(run: "show") --manager")
        }
        let person = try await directory.user(
            name, select: ["id"], expand: .managers(select: ["id", "displayName", "mail", "jobTitle"]))
        if person.manager == nil { context.console.note("There is no manager.") }
        return person.manager
    }

    /// One person of the offline copy, which has neither photos nor other people around them.
    private func showKept(_ name: String, _ select: [String], _ parts: Set<UserDetail.PartName>) async throws
        -> ExitStatus
    {
        let wanted =
            parts.map(\.rawValue).sorted() + (invocation[Input.chain] ? ["chain"] : [])
            + (invocation[Input.photo] == nil ? [] : ["photo"])
        guard wanted.isEmpty else {
            throw CommandError(
                .usage, "--offline and --\(wanted[0]) exclude each other",
                reason: "the offline copy has only what sync keeps of a person", hint: "lodge help show")
        }
        let fields = try context.fields(Input.fields)
        do {
            let user = try await context.offlineCopy().user(name, select: fields)
            try show(UserRecord(user: user), select)
            return .done
        } catch let error as DirectoryError where error.kind == .notFound {
            throw CommandError(
                .notFound, "nobody is found for \(name)", reason: "the offline copy has nobody of this name",
                hint: "\(run: "sync") brings it up to date")
        }
    }

    /// Shows one thing. A format with columns is a list of one.
    private func show(_ record: some OutputRecord, _ fields: [String]) throws {
        let format = OutputFormat(invocation)
        guard format.namesMembers else { return try format.show(record, context.console) }
        let writer = format.list(UserRecord.columns(fields, format), context.console)
        if let person = record as? UserRecord {
            try writer.write(UserRecord(user: person.user, fields: fields))
        } else if let person = record as? PersonDetailRecord {
            try writer.write(PersonDetailRecord(person: person.person, fields: fields))
        }
        try writer.finish()
    }

    /// Says which parts are not in the answer, and why: JSON has no word for it.
    private func noteUnseen(_ person: UserDetail) {
        func note<Value>(_ name: String, _ part: UserDetail.Part<Value>) {
            switch part {
            case .notPermitted(let error), .failed(let error):
                context.console.note("\(name) not shown: \(error.summary).")
            default: break
            }
        }
        note("The manager is", person.manager)
        note("The reports are", person.reports)
        note("The groups are", person.groups)
    }

    private func savePhoto(of user: User, _ name: String, _ directory: any UserDirectory) async throws {
        guard let file = invocation[Input.photo] else { return }
        guard let directory = directory as? GraphDirectory else {
            context.console.note("This directory gives no photos.")
            return
        }
        guard let photo = try await directory.photo(of: user.id ?? name) else {
            context.console.note("There is no photo.")
            return
        }
        do {
            try await context.writtenFile(file).write(Array(photo.bytes))
        } catch let error as OwnerOnlyFile.Failure {
            throw CommandError(
                .failed, "the photo cannot be written to \(file)", reason: error.explanation,
                hint: "name a file in a folder that exists and may be written to")
        }
        context.console.note("The photo (\(photo.mediaType ?? "of an unknown type")) is in \(file).")
    }
}
