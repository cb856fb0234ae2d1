import CommandLineKit
import LodgePlatform
import DirectorySearch
import OAuth2AccountStore
import StrictJSON

extension CommandContext {
    /// Returns the directory of the account. All retries of the command share one time budget.
    func directory(_ settings: Settings? = nil) async throws -> any UserDirectory {
        let store = try await store(try settings ?? self.settings())
        return try directory(of: try await account(store), in: store)
    }

    /// Returns the directory of an account.
    ///
    /// - Throws: The error of its type if that is invalid; ``CommandError`` if it has no directory.
    func directory(of account: Account, in store: AccountStore) throws -> any UserDirectory {
        if let type = try store.settings.type(named: account.type), type.graphAPI == nil {
            throw CommandError(
                .settings, "the account type \(type.name) has no directory",
                reason: "\(store.settings.source) names neither graphAPI nor directoryBase for it",
                hint: type.isMicrosoft
                    ? "add \"graphAPI\": \"https://graph.microsoft.com/\" to the type"
                    : "to show the signed-in user, run: \(run: "me"); to search, add \"directory\" (graph, scim or google) and "
                        + "\"directoryBase\" to the type: \(run: "help settings") directory"
            )
        }
        var retry = HTTPRetryPolicy.directory
        // A retry delay beyond the timeout ends the command immediately with the directory's error.
        if let timeout = invocation[GlobalOptions.timeout] { retry.totalDelay = min(timeout, retry.totalDelay) }
        return account.directory(in: store, retry: retry, budget: RetryBudget(retry.totalDelay))
    }

    /// Returns the offline copy with `--offline`, otherwise the directory.
    ///
    /// Pass the settings if they are already loaded.
    func userDirectory(_ settings: Settings? = nil, offline isOffline: Bool) async throws -> any UserDirectory {
        isOffline ? try await offlineCopy(settings) : try await directory(settings)
    }

    func offlineCopy(_ settings: Settings? = nil) async throws -> OfflineDirectory {
        let store = try await store(try settings ?? self.settings())
        let copy = OfflineDirectory(account: try await account(store).id, in: try storeDirectory)
        try await noteIncomplete(copy)
        return copy
    }

    /// Prints a note if the copy is incomplete.
    func noteIncomplete(_ copy: OfflineDirectory) async throws {
        guard try await copy.summary().completed == nil else { return }
        console.note(text("The offline copy is not complete. To complete it, run: \(run: "sync")"))
    }

    /// Returns the value of `--fields`, or `nil` if it is not given.
    func fields(_ option: Option<String?>) throws -> [String]? {
        guard let text = invocation[option] else { return nil }
        let fields = text.split(separator: ",").map { $0.split(separator: " ").joined(separator: " ") }
        guard !fields.isEmpty, !fields.contains("") else {
            throw CommandError(
                .usage, "--fields is empty", reason: "found \"\(text)\"", hint: "--fields displayName,mail")
        }
        return try fields.map { try knownField($0, of: option) }
    }

    /// Returns a field in Graph's spelling.
    ///
    /// - Throws: ``CommandError`` with the nearest name if the field does not exist.
    func knownField(_ field: String, of option: Option<String?>) throws(CommandError) -> String {
        var steps = field.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        let isRelation = ["manager", "directreports", "memberof", "transitivememberof"].contains(steps[0].lowercased())
        for index in steps.indices where index == 0 || isRelation && index == 1 {
            guard let name = UserProperty.spelling(of: steps[index]) else {
                // Other directories have other fields.
                if (try? settings())?.types.contains(where: { $0.directory != .graph }) == true { return field }
                let near = SpellingSuggestion.nearest(to: steps[index], in: UserProperty.names)
                throw CommandError(
                    .usage, "--\(option.spec.name) names an unknown field \(UsageError.quoted(steps[index]))",
                    reason: "Microsoft Graph has no such property of a user",
                    hint: near.map { "did you mean \($0)?" } ?? "lodge help formats")
            }
            steps[index] = name
        }
        return steps.joined(separator: ".")
    }

    /// Returns the fields of a row: the value of `--fields`, or all fields in formats for programs.
    func shownFields(_ format: OutputFormat, _ option: Option<String?>) throws -> [String]? {
        try fields(option) ?? (format.namesMembers ? UserQuery.defaultProperties : nil)
    }
}

@MainActor struct UserCommand: CommandHandler {
    enum Input {
        static let user = Argument.required(
            "USER", "ID, user principal name, mail address, or a name that only one user has")
        static let manager = Option.flag("manager", "show the manager, too")
        static let chain = Option.flag("chain", "show all managers up to the top, too")
        static let reports = Option.flag("reports", "show the direct reports, too")
        static let groups = Option.flag("groups", "show the groups and roles, too")
        static let photo = Option.text("photo", "FILE", "write the photo to this file", completion: .file)
        static let fields = Option.text("fields", "A,B", "fields to show, by Graph's names", completion: .field)
        static let offline = Option.flag("offline", "use the offline copy of lodge sync")
    }

    nonisolated static let meCommand = Command(
        "me", "Show the signed-in user.",
        discussion: "Without a directory, lodge prints the provider's userinfo, or the claims of the ID token.",
        examples: ["lodge me"], formats: OutputFormat.ofUsers,
        json: .object(
            [:], note: "Members are the properties of Graph; without a directory, the claims of OpenID Connect")
    ) { try await UserCommand(context: $0).me() }

    nonisolated static let showCommand = Command(
        "show", "Show one user: details, manager, reports, groups, photo.",
        discussion: "show distinguishes a missing value from a value that you may not read.",
        examples: [
            "lodge show ada@contoso.com", "lodge show 'ada lovelace'",
            "lodge show ada@contoso.com --manager --groups --photo ada.jpg",
        ],
        arguments: [Input.user],
        options: [Input.manager, Input.chain, Input.reports, Input.groups, Input.photo, Input.fields, Input.offline],
        formats: OutputFormat.ofUsers,
        json: .object(
            ["manager": "object or null", "directReports": "array", "memberOf": "array", "photo": "object or null"],
            note:
                "Before them, the properties of Graph, or the fields of --fields. Each of these only if it was requested; "
                + "with --chain, manager contains the managers above it")
    ) { try await UserCommand(context: $0).show() }

    let context: CommandContext

    func me() async throws -> ExitStatus {
        let (store, account) = try await context.storeAndAccount()
        guard account.hasUser else {
            throw CommandError(
                .usage, "cannot show me", reason: "\(account.type) is an application",
                hint: "to show a user, run: \(run: "show") USER",
                otherHint: "to show the application, run: \(run: "status")")
        }
        if let type = try store.settings.type(named: account.type), type.graphAPI == nil {
            try show(try await claims(of: account, type, store))
            return .done
        }
        do {
            let user = try await context.directory(of: account, in: store).me()
            try show(UserRecord(user: user, fields: UserQuery.defaultProperties))
            return .done
        } catch let error as DirectoryError where error.kind == .notSupported {
            throw CommandError(
                .failed, "the directory does not return the signed-in user",
                reason: error.displayMessage ?? error.status.map { "it responds to /Me with HTTP status \($0)" },
                hint: "to show a user, run: \(run: "show") USER", code: error.code, requestID: error.requestID)
        }
    }

    /// Returns the claims of userinfo, or of the last ID token if the provider has no userinfo endpoint or it fails.
    private func claims(of account: Account, _ type: AccountType, _ store: AccountStore) async throws -> ClaimsRecord {
        guard type.provider != .staticToken else {
            throw CommandError(
                .failed, "the account \(account.label) has no user",
                reason: "the type \(type.name) has no provider that identifies the user",
                hint: "\(run: "accounts show") \(account.id.rawValue)")
        }
        do {
            if let claims = try await store.userInfo(for: account.id) { return ClaimsRecord(claims) }
        } catch let error as AccountStoreError
            where [.refused, .denied, .signInNeeded(.scopeNotGranted)].contains(error.kind)
        {
            guard account.claims != nil else {
                throw CommandContext.advised(error, store, account, scopes: ["openid"])
            }
            console.note(
                "The provider does not return userinfo: \(error.reason). These are the claims of the ID token.")
        }
        guard let claims = account.claims else {
            throw CommandError(
                .failed, "the provider does not identify the user",
                reason: "it has no userinfo endpoint, and sent no ID token at the sign-in",
                hint: "\(run: "accounts show") \(account.id.rawValue)")
        }
        return ClaimsRecord(claims)
    }

    func show() async throws -> ExitStatus {
        let name = invocation[Input.user]
        let select = try context.fields(Input.fields) ?? UserQuery.defaultProperties
        var parts: Set<UserDetail.PartName> = []
        if invocation[Input.manager], !invocation[Input.chain] { parts.insert(.manager) }
        if invocation[Input.reports] { parts.insert(.reports) }
        if invocation[Input.groups] { parts.insert(.groups) }
        guard invocation[Input.photo] != "-" else {
            throw CommandError(
                .usage, "--photo requires a file", reason: "standard output contains the user",
                hint: "use a file name, or ./- for the file -")
        }
        if format == .vCard,
            let part = parts.map(\.rawValue).sorted().first ?? (invocation[Input.chain] ? "chain" : nil)
        {
            throw CommandError(
                .usage, "--\(part) has no format vcard", reason: "a vCard has only the properties of the user",
                hint: "leave out --\(part)")
        }
        if invocation[Input.offline] { return try await showOffline(name, select, parts) }
        let directory = try await context.directory()
        do {
            return try await show(name, select, parts, directory)
        } catch let error as DirectoryError where error.kind == .notFound {
            if let match = try await onlyMatch(name, directory) {
                return try await show(match, select, parts, directory)
            }
            throw CommandError(
                .notFound, "no user \(name)", reason: error.displayMessage,
                hint: "\(run: "search") finds users by name", code: error.code, requestID: error.requestID)
        }
    }

    /// Returns the identifier of the only user that a name means: the only user with exactly this name, mail address or user principal
    /// name, otherwise the only user whose name starts with it. A part of an address means no user.
    ///
    /// - Returns: `nil` if there is no such user, or if the directory cannot search.
    /// - Throws: ``CommandError`` if there are several users; `CancellationError`.
    private func onlyMatch(_ name: String, _ directory: any UserDirectory) async throws -> String? {
        let text = SearchText(name)
        guard !text.words.isEmpty else { return nil }
        let query = UserQuery(
            .matching(text), select: ["id", "displayName", "mail", "userPrincipalName"], limit: Self.maximumMatches)
        var matches: [User] = []
        do {
            for try await user in directory.users(matching: query) { matches.append(user) }
        } catch is DirectoryError {
            return nil
        }
        let exact = matches.filter { user in
            [user.displayName, user.mail, user.userPrincipalName].contains { $0?.lowercased() == name.lowercased() }
        }
        if exact.count == 1 { return exact[0].id }
        guard !name.contains("@"), !matches.isEmpty else { return nil }
        if matches.count == 1 { return matches[0].id }
        let shown = matches.prefix(3).map { $0.mail ?? $0.displayName ?? "" }.joined(separator: ", ")
        throw CommandError(
            .usage, "several users match \(name)", reason: shown + (matches.count > 3 ? " and others" : ""),
            hint: "to list them, run: \(run: "search") \(name.shellWord)")
    }

    /// The maximum number of users to compare with a name.
    private static let maximumMatches = 20

    private func show(
        _ name: String, _ select: [String], _ parts: Set<UserDetail.PartName>, _ directory: any UserDirectory
    ) async throws -> ExitStatus {
        let managers = try await chain(above: name, directory)
        if parts.isEmpty {
            var user = try await directory.user(name, select: select)
            if let managers { user.manager = managers }
            try show(
                UserDetailRecord(
                    userDetail: UserDetail(user: user), fields: select, hasManagers: invocation[Input.chain]))
            try await savePhoto(of: user, name, directory)
        } else {
            var detail = try await directory.detail(of: name, select: select, parts: parts)
            if let managers { detail.user.manager = managers }
            noteUnseen(detail)
            try show(UserDetailRecord(userDetail: detail, fields: select, hasManagers: invocation[Input.chain]))
            try await savePhoto(of: detail.user, name, directory)
        }
        return .done
    }

    /// Returns the management chain for `--chain`.
    private func chain(above name: String, _ directory: any UserDirectory) async throws -> User? {
        guard invocation[Input.chain] else { return nil }
        guard let directory = directory as? GraphDirectory else {
            throw CommandError(
                .usage, "this directory does not support --chain",
                reason: "only Microsoft Graph returns all managers in one request",
                hint: "\(run: "show") --manager")
        }
        let detail = try await directory.user(
            name, select: ["id"], expand: .managers(select: ["id", "displayName", "mail", "jobTitle"]))
        if detail.manager == nil { console.note("There is no manager.") }
        return detail.manager
    }

    /// Shows a user of the offline copy, which has no photos or related users.
    private func showOffline(_ name: String, _ select: [String], _ parts: Set<UserDetail.PartName>) async throws
        -> ExitStatus
    {
        let unsupported =
            parts.map(\.rawValue).sorted() + (invocation[Input.chain] ? ["chain"] : [])
            + (invocation[Input.photo] == nil ? [] : ["photo"])
        guard unsupported.isEmpty else {
            throw CommandError(
                .usage, "--offline and --\(unsupported[0]) cannot be combined",
                reason: "the offline copy has only the properties that sync saves", hint: "lodge help show")
        }
        let fields = try context.fields(Input.fields)
        let copy = try await context.offlineCopy()
        do {
            try show(UserRecord(user: try await copy.user(name, select: fields), fields: select))
            return .done
        } catch let error as DirectoryError where error.kind == .notFound {
            if let match = try await onlyMatch(name, copy) {
                try show(UserRecord(user: try await copy.user(match, select: fields), fields: select))
                return .done
            }
            throw CommandError(
                .notFound, "no user \(name)", reason: "the offline copy has no such user",
                hint: "\(run: "sync") brings it up to date")
        }
    }

    private func show(_ record: some UserRow) throws {
        guard format.namesMembers else { return try format.show(record, console) }
        try list([record], UserRecord.columns(record.fields, format) + record.partColumns)
    }

    /// Prints which parts are missing and why, because JSON has no form for this.
    private func noteUnseen(_ detail: UserDetail) {
        func note<Value>(_ name: String, _ part: UserDetail.Part<Value>) {
            switch part {
            case .notPermitted(let error), .failed(let error): console.note("\(name) not shown: \(error.summary).")
            default: break
            }
        }
        note("The manager is", detail.manager)
        note("The reports are", detail.reports)
        note("The groups are", detail.groups)
    }

    /// Returns the type of an image with this name; `nil` if the name does not say it.
    private static func mediaType(ofFile name: String) -> String? {
        switch name.split(separator: ".").last?.lowercased() {
        case "jpg", "jpeg": "image/jpeg"
        case "png": "image/png"
        case "gif": "image/gif"
        default: nil
        }
    }

    private func savePhoto(of user: User, _ name: String, _ directory: any UserDirectory) async throws {
        guard let file = invocation[Input.photo] else { return }
        guard let directory = directory as? GraphDirectory else {
            console.note("This directory has no photos.")
            return
        }
        guard let photo = try await directory.photo(of: user.id ?? name) else {
            console.note("There is no photo.")
            return
        }
        try await context.write(Array(photo.bytes), to: file, "the photo")
        console.note("The photo (\(photo.mediaType ?? "of an unknown type")) is in \(file).")
        if let expected = Self.mediaType(ofFile: file), let sent = photo.mediaType, sent.lowercased() != expected {
            console.note(
                "The directory sent \(sent), not \(expected): programs that trust the name may not show \(file).")
        }
    }
}
