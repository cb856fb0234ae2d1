import DirectorySearch

/// An input of the model. A result has the number of its effect, so that the model recognizes late results.
package enum BrowseEvent: Sendable {
    case key(Key)
    /// The terminal has this size. This is the first event; it repeats after each change.
    case resized(ScreenSize)
    /// The time requested by ``BrowseEffect/wake(at:)`` has come.
    case tick
    /// The terminal is available again after a suspension.
    case resumed
    /// The stored accounts and the current one. Without accounts, the browser offers a sign-in.
    case accounts([BrowseAccount], current: BrowseAccount.ID?)
    /// A page of users: the first or an additional one.
    case users(Int, BrowsePage)
    /// Users of the offline copy for the text being typed.
    case localPreview(Int, BrowsePage)
    /// A user with the requested parts. Also the result of a request for reports or groups.
    case detail(Int, UserDetail)
    /// A user's photo, or `nil` for a user without a photo.
    case photo(Int, UserPhoto?)
    /// The request with this number failed.
    case failed(Int, BrowseFailure)
    case signIn(Int, SignInProgress)
    /// A text was copied by this means: `wl-copy`, `OSC 52`.
    case copied(String, by: String)
    /// The text was not copied, for this reason.
    case copyFailed(String)
    /// The marked users were written to this file.
    case exported(count: Int, file: String)
    /// The marked users were not exported, for this reason.
    case exportFailed(String)
    /// A line for the request log, with secrets redacted: `200 12 ms GET /v1.0/users?…`.
    case logged(String)
}

/// An account in the list of the browser.
package struct BrowseAccount: Identifiable, Hashable, Sendable {
    package var id: String
    /// The name shown: the label set by the user, or the user name.
    package var label: String
    package var type: String
    package var needsSignIn: Bool

    package init(id: String, label: String, type: String, needsSignIn: Bool) {
        self.id = id
        self.label = label
        self.type = type
        self.needsSignIn = needsSignIn
    }

    /// Returns the accounts with unique labels: adds the type if accounts of several types have the same name.
    package static func disambiguated(_ accounts: [BrowseAccount]) -> [BrowseAccount] {
        let counts = Dictionary(accounts.map { ($0.label, 1) }, uniquingKeysWith: +)
        return accounts.map { account in
            var account = account
            if counts[account.label, default: 0] > 1 { account.label += " (\(account.type))" }
            return account
        }
    }
}

package enum BrowseSource: Hashable, Sendable {
    case offline
    case directory
}

/// A page of search results.
package struct BrowsePage: Sendable {
    package var users: [User]
    package var hasMore: Bool
    package var source: BrowseSource
    /// Whether these users follow the previous page. Otherwise they replace it.
    package var isContinuation: Bool
    /// Whether the users come from an incomplete offline copy.
    package var isPartial = false

    package init(users: [User], hasMore: Bool, source: BrowseSource, isContinuation: Bool, isPartial: Bool = false) {
        self.users = users
        self.hasMore = hasMore
        self.source = source
        self.isContinuation = isContinuation
        self.isPartial = isPartial
    }
}

/// The error of a request, with the text of the command's messages.
package struct BrowseFailure: Error, Hashable, Sendable {
    /// The problem: `too many requests`.
    package var summary: String
    package var reason: String?
    /// The remedy, if there is one.
    package var hint: String?
    /// The delay that the service requires before a retry.
    package var retryAfter: Duration?
    /// Whether a sign-in helps.
    package var needsSignIn = false
    /// Whether the network failed, so that a retry may help.
    package var isNetwork = false

    package init(
        summary: String, reason: String? = nil, hint: String? = nil, retryAfter: Duration? = nil,
        needsSignIn: Bool = false, isNetwork: Bool = false
    ) {
        self.summary = summary
        self.reason = reason
        self.hint = hint
        self.retryAfter = retryAfter
        self.needsSignIn = needsSignIn
        self.isNetwork = isNetwork
    }
}

package enum SignInProgress: Hashable, Sendable {
    /// The browser was opened with this URL. The redirect ends the sign-in.
    case browser(address: String)
    /// A code to enter at this URL on any device.
    case code(String, address: String)
    /// The sign-in succeeded. ``BrowseEvent/accounts(_:current:)`` with the new account follows.
    case done(label: String)
    case failed(BrowseFailure)
}
