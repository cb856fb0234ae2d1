import DirectorySearch

/// An input of the model. A result has the number of its effect, so that a late one is recognized.
package enum BrowseEvent: Sendable {
    case key(Key)
    /// The terminal has this size: the first event, and each time it changes.
    case resized(ScreenSize)
    /// The time that ``BrowseEffect/wake(at:)`` asked for has come.
    case tick
    /// The terminal is there again after a stop.
    case resumed
    /// The accounts that are kept, and which is used. None: it offers to sign in.
    case accounts([BrowseAccount], current: BrowseAccount.ID?)
    /// A page of users: the first, or an additional one.
    case users(Int, BrowsePage)
    /// The users of the offline copy for a text that is still being typed.
    case localPreview(Int, BrowsePage)
    /// A user with the requested parts: also the result for reports and for groups.
    case detail(Int, UserDetail)
    /// A person's photo; nil when there is none.
    case photo(Int, UserPhoto?)
    /// The request of this number failed.
    case failed(Int, BrowseFailure)
    case signIn(Int, SignInProgress)
    /// A text was copied; by what: `wl-copy`, `OSC 52`.
    case copied(String, by: String)
    /// The text was not copied, for this reason.
    case copyFailed(String)
    /// The marked people were written to this file.
    case exported(count: Int, file: String)
    /// The marked users were not exported, for this reason.
    case exportFailed(String)
    /// A line for the request log, without secrets: `200 12 ms GET /v1.0/users?…`.
    case logged(String)
}

/// An account, as the browser lists it.
package struct BrowseAccount: Identifiable, Hashable, Sendable {
    package var id: String
    /// How it is called: the person's own name for it, or the user name.
    package var label: String
    package var type: String
    package var needsSignIn: Bool

    package init(id: String, label: String, type: String, needsSignIn: Bool) {
        self.id = id
        self.label = label
        self.type = type
        self.needsSignIn = needsSignIn
    }

    /// The accounts with labels that tell them apart: where two types have one of the same name, each says its type.
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

/// Some of the people of a search.
package struct BrowsePage: Sendable {
    package var users: [User]
    package var hasMore: Bool
    package var source: BrowseSource
    /// Whether these follow those that came before; if not, they replace them.
    package var isContinuation: Bool
    /// Whether the offline copy that they come from is not complete yet.
    package var isPartial = false

    package init(users: [User], hasMore: Bool, source: BrowseSource, isContinuation: Bool, isPartial: Bool = false) {
        self.users = users
        self.hasMore = hasMore
        self.source = source
        self.isContinuation = isContinuation
        self.isPartial = isPartial
    }
}

/// Why something did not come, in the words of the command's errors.
package struct BrowseFailure: Error, Hashable, Sendable {
    /// What happened: `the directory takes no more requests for now`.
    package var summary: String
    package var reason: String?
    /// What to do, if anything.
    package var hint: String?
    /// How long the service asks to wait.
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
    /// The browser was opened at this address, and comes back by itself.
    case browser(address: String)
    /// A code to enter at this address on any device.
    case code(String, address: String)
    /// Done: the account that was added follows in ``BrowseEvent/accounts(_:current:)``.
    case done(label: String)
    case failed(BrowseFailure)
}
