import CommandLineKit

/// A sign-in in progress.
struct SignInUnderWay: Sendable {
    var number: Int
    var target: SignInTarget
    var progress: SignInProgress?
    var failure: BrowseFailure?
}

// MARK: Accounts and sign-in

extension BrowseModel {
    var currentAccount: BrowseAccount? { accounts?.first { $0.id == current } }

    /// Whether there is no account, so that only a sign-in is possible.
    var mustSignIn: Bool { accounts?.isEmpty == true }

    private static let removed = "The account was removed by another program."

    mutating func take(_ accounts: [BrowseAccount], _ current: BrowseAccount.ID?) {
        self.accounts = accounts
        rejectedAccounts.formIntersection(accounts.map(\.id))
        if case .accounts(let selected) = overlay {
            overlay = .accounts(selected: min(selected, accounts.count + signIns.count - 1))
        }
        guard current != self.current else { return }
        let before = self.current
        let lost = marked.isEmpty ? nil : "The marks are removed."
        self.current = current
        restart()
        guard let before else {
            // The notice about the removal of the last account is obsolete.
            if notice?.text.hasPrefix(Self.removed) == true, let account = currentAccount {
                say("Now searching as \(account.label.visible).", .good)
            }
            return
        }
        if !accounts.contains(where: { $0.id == before }) {
            let next = currentAccount.map { "Now searching as \($0.label.visible)." }
            let words = [Self.removed, next, lost]
            say(words.compactMap { $0 }.joined(separator: " "), .warning)
        } else if let lost {
            // Appended to the notice about the sign-in to another account.
            say([notice?.text, lost].compactMap { $0 }.joined(separator: " "), notice?.style ?? .plain)
        }
    }

    /// Discards all loaded users, because another account can see different ones.
    private mutating func restart() {
        stopJump()
        stopSearch()
        stopDetail()
        delayEnd = nil
        search = Search()
        list = ResultList()
        (past, future, isVisited) = ([], [], false)
        (marked, markedIDs) = ([], [])
        details = RecentDetails()
        photos = RecentPhotos()
        detail = DetailPane(showsPhoto: detail.showsPhoto)
        // Without an account, Enter in the query line starts a sign-in.
        if current == nil || !isLongEnough { focus = .query }
        sendSearch()
    }

    /// Returns whether an account needs a sign-in, according to the store or the directory.
    func needsSignIn(_ account: BrowseAccount) -> Bool { account.needsSignIn || rejectedAccounts.contains(account.id) }

    /// Notes that the directory accepted the token of the current account.
    mutating func noteAccepted() { if let current { rejectedAccounts.remove(current) } }

    mutating func openAccounts() {
        guard let accounts, !accounts.isEmpty else { return offerSignIn() }
        overlay = .accounts(selected: accounts.firstIndex { $0.id == current } ?? 0)
    }

    /// Offers a sign-in or the choice of an account.
    mutating func offerSignIn() {
        guard let accounts else { return }
        if accounts.isEmpty {
            signIn(.another(type: nil))
        } else if let current, search.failure?.needsSignIn == true || detail.failure?.needsSignIn == true {
            signIn(.account(current))
        } else {
            overlay = .accounts(selected: accounts.firstIndex { $0.id == current } ?? 0)
        }
    }

    /// The sign-in entries after the accounts in the menu: one for each type if there are several.
    var signIns: [SignInTarget] { types.count > 1 ? types.map { .another(type: $0) } : [.another(type: nil)] }

    /// Returns the account to sign in to for a position of the account menu.
    func signInTarget(_ position: Int) -> SignInTarget {
        let accounts = accounts ?? []
        if accounts.indices.contains(position) { return .account(accounts[position].id) }
        let rest = position - accounts.count
        return signIns.indices.contains(rest) ? signIns[rest] : .another(type: nil)
    }

    /// Selects the entry at a position of the account menu. Entries after the accounts start a new sign-in.
    mutating func chooseAccount(_ position: Int) {
        guard let accounts, accounts.indices.contains(position) else { return signIn(signInTarget(position)) }
        let account = accounts[position]
        if needsSignIn(account) { return signIn(.account(account.id)) }
        overlay = nil
        guard account.id != current else { return say("\(account.label.visible) is in use already.") }
        emit(.use(account.id))
        current = account.id
        let lost = marked.isEmpty ? "" : " The marks are removed."
        restart()
        say("Now searching as \(account.label.visible).\(lost)", .good)
    }

    mutating func signIn(_ target: SignInTarget) {
        let number = nextNumber()
        overlay = .signIn(SignInUnderWay(number: number, target: target))
        emit(.signIn(number, target))
    }

    mutating func take(_ progress: SignInProgress, _ number: Int) {
        guard case .signIn(var underWay) = overlay, underWay.number == number else { return }
        switch progress {
        case .browser, .code:
            underWay.progress = progress
            overlay = .signIn(underWay)
        case .failed(let failure):
            underWay.failure = failure
            overlay = .signIn(underWay)
        case .done(let label):
            overlay = nil
            say("Signed in as \(label.visible).", .good)
            guard case .account(let account) = underWay.target else { return }
            rejectedAccounts.remove(account)
            if let position = accounts?.firstIndex(where: { $0.id == account }) {
                accounts?[position].needsSignIn = false
            }
            guard account == current else { return }
            // The account may now see more, so reload details and repeat the requests that failed without a sign-in.
            details = RecentDetails()
            detail.failure = nil
            if detail.target != nil, detail.running == nil { detail.due = now }
            if search.failure != nil { sendSearch() }
        }
    }
}
