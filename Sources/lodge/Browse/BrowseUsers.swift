import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore

/// Loads users for the account in use and posts the results.
@MainActor final class BrowseUsers {
    private let accounts: BrowseAccounts
    private let inbox: EventQueue
    private let isOffline: Bool
    /// The source of the next pages of the last search.
    private var nextPages: (number: Int, source: any UserPageSource)?

    /// The page size: enough for a tall terminal, small enough for a fast response.
    private static let pageSize = 100
    /// The maximum number of results in offline mode, which has no pages.
    private static let offlineLimit = 1000

    init(_ accounts: BrowseAccounts, _ inbox: EventQueue, isOffline: Bool) {
        self.accounts = accounts
        self.inbox = inbox
        self.isOffline = isOffline
    }

    func forgetSearch() { nextPages = nil }

    /// Posts the matching users: first from the offline copy if it exists, then from the directory.
    func search(_ number: Int, _ text: String) async throws {
        let active = try active()
        if isOffline {
            let users = try await active.copy.users(typed: text, limit: Self.offlineLimit)
            let isPartial = try await active.copy.summary().completed == nil
            if users.isEmpty, isPartial {
                throw BrowseFailure(
                    summary: "the offline copy is not complete", reason: "it contains no match",
                    hint: "to complete it, run: lodge sync")
            }
            // The additional result only indicates that there are more.
            let shown = Array(users.prefix(Self.offlineLimit - 1))
            return post(number, shown, hasMore: users.count > shown.count, .offline, isPartial: isPartial)
        }
        // The copy may be missing, damaged or locked. The directory is searched anyway.
        if let page = await offlinePage(text, active), !Task.isCancelled { inbox.post(.users(number, page)) }
        let text = SearchText(text)
        let pages = active.directory.pages(matching: UserQuery(.matching(text), pageSize: Self.pageSize))
        var source = pages.ranked(by: text).makeSource()
        let page = try await source.next() ?? UserPage(users: [])
        guard !Task.isCancelled else { return }
        nextPages = page.hasMore ? (number, source) : nil
        post(number, page.users, hasMore: page.hasMore, .directory)
    }

    /// Posts the matching users of the offline copy, if it has any.
    func localPreview(_ number: Int, _ text: String) async {
        guard let active = accounts.active, let page = await offlinePage(text, active), !Task.isCancelled else {
            return
        }
        inbox.post(.localPreview(number, page))
    }

    private func offlinePage(_ text: String, _ active: BrowseAccounts.ActiveAccount) async -> BrowsePage? {
        // One additional result shows whether there are more.
        guard let users = try? await active.copy.users(typed: text, limit: Self.pageSize + 1), !users.isEmpty else {
            return nil
        }
        return BrowsePage(
            users: Array(users.prefix(Self.pageSize)), hasMore: users.count > Self.pageSize, source: .offline,
            isContinuation: false, isPartial: (try? await active.copy.summary())?.completed == nil)
    }

    func nextPage(_ number: Int) async throws {
        guard let nextPages, nextPages.number == number else { return }
        var source = nextPages.source
        let page = try await source.next() ?? UserPage(users: [])
        guard !Task.isCancelled, self.nextPages?.number == number else { return }
        self.nextPages = page.hasMore ? (number, source) : nil
        post(number, page.users, hasMore: page.hasMore, .directory, isContinuation: true)
    }

    func detail(_ number: Int, _ id: String, _ parts: Set<UserDetail.PartName>) async throws {
        let active = try active()
        let directory: any UserDirectory = isOffline ? active.copy : active.directory
        inbox.post(
            .detail(number, try await directory.detail(of: id, select: UserQuery.defaultProperties, parts: parts)))
    }

    /// Returns a listed user with other properties.
    func user(_ user: User, select: [String]) async throws -> User {
        let active = try active()
        guard let name = user.id ?? user.userPrincipalName ?? user.mail else { return user }
        return isOffline
            ? try await active.copy.user(name, select: Optional(select))
            : try await active.directory.user(name, select: select)
    }

    /// Posts the photo of a user. Only Graph has photos.
    func photo(_ number: Int, _ id: String) async throws {
        let graph = isOffline ? nil : try active().directory as? GraphDirectory
        inbox.post(.photo(number, try await graph?.photo(of: id)))
    }

    private func active() throws(BrowseFailure) -> BrowseAccounts.ActiveAccount {
        guard let active = accounts.active else { throw .notSignedIn }
        return active
    }

    private func post(
        _ number: Int, _ users: [User], hasMore: Bool, _ source: BrowseSource, isContinuation: Bool = false,
        isPartial: Bool = false
    ) {
        inbox.post(
            .users(
                number,
                BrowsePage(
                    users: users.map { $0.detached() }, hasMore: hasMore, source: source,
                    isContinuation: isContinuation, isPartial: isPartial)))
    }
}
