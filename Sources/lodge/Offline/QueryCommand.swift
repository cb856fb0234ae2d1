import CommandLineKit
import DirectorySearch
import HTTPExchange
import OAuth2AccountStore

/// A mail program that `query` writes addresses for.
enum MailProgram: String, CaseIterable, Sendable { case mutt, aerc }

@MainActor struct QueryCommand: CommandHandler {
    enum Input {
        static let text = Argument.words("TEXT", "beginnings of names or of an address")
        static let format = Option.choice("format", "PROGRAM", "mutt or aerc (mutt)", of: MailProgram.self)
        static let offline = Option.flag("offline", "answer from the offline copy")
        static let upnAsMail = Option.flag("upn-as-mail", "use the user principal name of who has no mail address")
        static let limit = Option.integer(
            "limit", "N", "at most this many people (50)", in: 1...1000)
    }

    nonisolated static let command = Command(
        "query", "Complete addresses for a mail program.",
        discussion: """
            Mutt: set query_command = "lodge query --format mutt %s". Aerc: address-book-cmd = lodge query --format aerc %s. Both quote what \
            stands for %s: quotes of one's own would undo that. Without \
            --offline the directory is asked, and the offline copy where the directory cannot be reached.
            """, examples: ["lodge query ada lo", "lodge query --offline --format aerc ada"], arguments: [Input.text],
        options: [Input.format, Input.offline, Input.upnAsMail, Input.limit], formats: OutputFormat.ofSentences
    ) { try await QueryCommand(context: $0).run() }

    let context: CommandContext

    private static let defaultLimit = 50

    func run() async throws -> ExitStatus {
        let text = invocation[Input.text].joined(separator: " ")
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard !words.isEmpty else { throw DirectoryError(.emptySearch) }
        let isAerc = invocation[Input.format] == .aerc
        let limit = min(invocation[Input.limit] ?? Self.defaultLimit, isAerc ? Self.defaultLimit : 1000)

        let (store, account) = try await context.storeAndAccount()
        let offline = OfflineDirectory(account: account.id, in: try context.storeDirectory)
        let users: [User]
        if invocation[Input.offline] {
            users = try await offline.users(typed: text, limit: limit)
            try await context.noteIncomplete(offline)
        } else {
            users = try await search(words, limit, account, store, else: offline)
        }

        let rows = users.compactMap { AddressRow($0, usesUPN: invocation[Input.upnAsMail]) }
        guard !rows.isEmpty else {
            // Mutt shows the first line in place of a list; aerc would offer it as an address.
            let sentence = "Nobody with a mail address is found for \(text.visible)."
            if isAerc { console.note(sentence) } else { try console.writeLine(sentence) }
            return .notFound
        }
        if !isAerc { try console.writeLine(rows.count == 1 ? "1 person" : "\(rows.count) people") }
        for row in rows { try console.writeLine(isAerc ? row.aerc : row.mutt) }
        return .done
    }

    /// The users of the directory, or of the copy if the directory is unavailable.
    private func search(
        _ words: [String], _ limit: Int, _ account: Account, _ store: AccountStore, else offline: OfflineDirectory
    ) async throws -> [User] {
        // Completion is for somebody who is typing: it does not wait for a busy service.
        let directory = account.directory(in: store, retry: .never)
        let query = UserQuery(
            .matching(SearchText(words.joined(separator: " "))), pageSize: min(limit, 999), limit: limit)
        do {
            var users: [User] = []
            for try await user in directory.users(matching: query) { users.append(user) }
            return users
        } catch  where Self.isOutage(error) {
            // Of a copy without anybody in it, "nobody" would be no answer.
            guard let summary = try? await offline.summary(), summary.users > 0,
                let users = try? await offline.users(typed: words.joined(separator: " "), limit: limit)
            else { throw error }
            console.note("The directory cannot be reached; this is from the offline copy.")
            try await context.noteIncomplete(offline)
            return users
        }
    }

    private static func isOutage(_ error: any Error) -> Bool {
        switch error {
        case is HTTPTransportError: true
        case let error as DirectoryError: error.kind == .unavailable || error.kind == .throttled
        case let error as AccountStoreError: error.kind == .network || error.kind == .unavailable
        default: false
        }
    }
}

/// A mail address as mail programs read it: columns separated by tabs.
struct AddressRow: Equatable {
    var mail: String
    var name: String
    var note: String

    /// Nil for a user without an address that a header can have.
    init?(_ user: User, usesUPN: Bool) {
        let address = [user.mail, usesUPN ? user.userPrincipalName : nil].compactMap { $0 }.first { !$0.isEmpty }
        guard let address, address.unicodeScalars.allSatisfy(Self.mayStandInAddress) else { return nil }
        mail = address
        name = Self.clean(user.displayName ?? "")
        note = [user.jobTitle, user.department].compactMap { $0 }.map(Self.clean).filter { !$0.isEmpty }
            .joined(separator: " · ")
    }

    var mutt: String { "\(mail)\t\(name)\t\(note)" }
    var aerc: String { "\(mail)\t\(name)" }

    /// A text from the directory must not end a column or a line, nor become another address.
    private static func clean(_ text: String) -> String {
        var cleaned = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\t" || scalar == "\n" || scalar == "\r" {
                cleaned.append(" ")
            } else if !isInvisible(scalar), !"\"<>".unicodeScalars.contains(scalar) {
                cleaned.append(scalar)
            }
        }
        return String(cleaned).split(separator: " ").joined(separator: " ")
    }

    private static func mayStandInAddress(_ scalar: Unicode.Scalar) -> Bool {
        !isInvisible(scalar) && !scalar.properties.isWhitespace && !"\"<>(),;".unicodeScalars.contains(scalar)
    }

    private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
