import CommandLineKit
import DirectorySearch
import HTTPExchange
import OAuth2AccountStore

/// The output of `search` for the address completion of mutt and aerc.
@MainActor struct AddressCompletion {
    let context: CommandContext
    let settings: Settings?
    let query: UserQuery
    /// The words of the command line, by which an offline copy ranks users. Empty if there are other conditions.
    let words: [String]
    /// Whether the search uses only the offline copy.
    let isOffline: Bool
    /// Whether to use the user principal name of users without a mail address.
    let usesUPN: Bool

    static let maximumUsers = 50
    /// The properties in a line of output.
    static let properties = ["displayName", "mail", "userPrincipalName", "jobTitle", "department"]

    private var console: Console { context.console }
    private var isAerc: Bool { OutputFormat(context.invocation) == .aerc }

    func run() async throws -> ExitStatus {
        let store = try await context.store(try settings ?? context.settings())
        let account = try await context.account(store)
        let copy = OfflineDirectory(account: account.id, in: try context.storeDirectory)
        let users: [User]
        if isOffline {
            users = try await self.users(of: copy)
            try await context.noteIncomplete(copy)
        } else {
            users = try await search(account, store, else: copy)
        }
        let rows = users.compactMap { AddressRow($0, usesUPN: usesUPN) }
        guard !rows.isEmpty else {
            // Mutt shows the first line as a message; aerc would treat it as an address.
            let text = words.isEmpty ? "this search" : words.joined(separator: " ").visible
            let sentence = "No user with a mail address matches \(text)."
            if isAerc { console.note(sentence) } else { try console.writeLine(sentence) }
            return .notFound
        }
        if !isAerc { try console.writeLine(rows.count == 1 ? "1 user" : "\(rows.count) users") }
        for row in rows { try console.writeLine(isAerc ? row.aerc : row.mutt) }
        return .done
    }

    /// Returns the users of the directory, or of the offline copy if the directory is unavailable.
    private func search(
        _ account: Account, _ store: AccountStore, else copy: OfflineDirectory
    ) async throws -> [User] {
        // Do not retry: the user is typing and should not wait for a busy service.
        let directory = account.directory(in: store, retry: .never)
        do {
            var users: [User] = []
            for try await user in directory.users(matching: query) { users.append(user) }
            return users
        } catch let error where Self.isOutage(error) {
            // An empty copy proves nothing about the directory.
            guard let summary = try? await copy.summary(), summary.users > 0,
                let users = try? await self.users(of: copy)
            else { throw error }
            console.note("The directory is unavailable: these users are from the offline copy.")
            try await context.noteIncomplete(copy)
            return users
        }
    }

    private func users(of copy: OfflineDirectory) async throws -> [User] {
        let limit = query.limit ?? Self.maximumUsers
        guard words.isEmpty else { return try await copy.users(typed: words.joined(separator: " "), limit: limit) }
        var users: [User] = []
        for try await user in copy.users(matching: query) { users.append(user) }
        return users
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

/// A mail address in the format of mail programs: columns separated by tabs.
struct AddressRow: Equatable {
    var mail: String
    var name: String
    var note: String

    /// Creates a row, or returns `nil` if the user has no address that is valid in a header.
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

    /// Removes tabs and line ends, so that text from the directory cannot add a column or an address.
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
