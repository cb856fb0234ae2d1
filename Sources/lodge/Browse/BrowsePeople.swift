import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore

/// Asks for people, on behalf of the account in use, and posts the answers.
@MainActor
final class BrowsePeople {
    private let accounts: BrowseAccounts
    private let inbox: EventQueue
    private let isOffline: Bool
    /// The pages of the last search that follow, with the directory that has them.
    private var further: (number: Int, source: any UserPageSource)?

    /// How many people a page has. Enough for a high terminal; a service answers fewer sooner.
    private static let pageSize = 100
    /// How many people the copy gives where it alone is asked: it has no pages.
    private static let offlineLimit = 1000

    init(_ accounts: BrowseAccounts, _ inbox: EventQueue, isOffline: Bool) {
        self.accounts = accounts
        self.inbox = inbox
        self.isOffline = isOffline
    }

    /// The pages that follow are not wanted any more.
    func forgetSearch() { further = nil }

    /// People for what was typed: from the copy on this machine, where there is one, and then from the directory.
    func search(_ number: Int, _ text: String) async throws {
        let location = try location()
        if isOffline {
            let users = try await location.copy.users(typed: text, limit: Self.offlineLimit)
            let isPartial = try await location.copy.summary().completed == nil
            if users.isEmpty, isPartial {
                throw BrowseFailure(
                    summary: "the copy on this machine is not complete", reason: "nobody in it so far has this name",
                    hint: "lodge sync goes on with it")
            }
            // The last one that it gives tells only that there are more.
            let shown = Array(users.prefix(Self.offlineLimit - 1))
            return post(number, shown, hasMore: users.count > shown.count, .offline, isPartial: isPartial)
        }
        // The copy may be missing, damaged or at work: the directory is asked all the same.
        if let page = await kept(text, location), !Task.isCancelled { inbox.post(.people(number, page)) }
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        var source = location.directory.pages(matching: UserQuery(.typed(words), pageSize: Self.pageSize)).makeSource()
        let page = try await source.next() ?? UserPage(users: [])
        guard !Task.isCancelled else { return }
        further = page.hasMore ? (number, source) : nil
        post(number, page.users, hasMore: page.hasMore, .directory)
    }

    /// Those whom the copy on this machine has for a text. Where there is none, or it has nobody, the directory will tell.
    func localPreview(_ number: Int, _ text: String) async {
        guard let location = accounts.location, let page = await kept(text, location), !Task.isCancelled else { return }
        inbox.post(.localPreview(number, page))
    }

    /// The first people of the copy on this machine; nil where there is none, or it has nobody.
    private func kept(_ text: String, _ location: BrowseAccounts.Place) async -> BrowsePage? {
        // One more than is shown tells whether there are more.
        guard let users = try? await location.copy.users(typed: text, limit: Self.pageSize + 1), !users.isEmpty else {
            return nil
        }
        return BrowsePage(
            people: Array(users.prefix(Self.pageSize)), hasMore: users.count > Self.pageSize, source: .offline,
            isContinuation: false, isPartial: (try? await location.copy.summary())?.completed == nil)
    }

    /// The page that follows. Where it does not come, it can be asked for again.
    func nextPage(_ number: Int) async throws {
        guard let further, further.number == number else { return }
        var source = further.source
        let page = try await source.next() ?? UserPage(users: [])
        guard !Task.isCancelled, self.further?.number == number else { return }
        self.further = page.hasMore ? (number, source) : nil
        post(number, page.users, hasMore: page.hasMore, .directory, isContinuation: true)
    }

    /// A person and these parts of what is around them.
    func detail(_ number: Int, _ id: String, _ parts: Set<UserDetail.PartName>) async throws {
        let location = try location()
        let directory: any UserDirectory = isOffline ? location.copy : location.directory
        inbox.post(
            .detail(number, try await directory.detail(of: id, select: UserQuery.defaultProperties, parts: parts)))
    }

    /// A person's photo; other directories than Graph have none.
    func photo(_ number: Int, _ id: String) async throws {
        let graph = isOffline ? nil : try location().directory as? GraphDirectory
        inbox.post(.photo(number, try await graph?.photo(of: id)))
    }

    private func location() throws(BrowseFailure) -> BrowseAccounts.Place {
        guard let location = accounts.location else { throw .nobody }
        return location
    }

    private func post(
        _ number: Int, _ users: [User], hasMore: Bool, _ source: BrowseSource, isContinuation: Bool = false,
        isPartial: Bool = false
    ) {
        inbox.post(
            .people(
                number,
                BrowsePage(
                    people: users.map { $0.detached() }, hasMore: hasMore, source: source,
                    isContinuation: isContinuation, isPartial: isPartial)))
    }
}
