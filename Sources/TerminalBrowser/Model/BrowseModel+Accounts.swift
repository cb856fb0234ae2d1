import CommandLineKit

/// A sign-in that was begun here.
struct SignInUnderWay: Sendable {
    var number: Int
    var target: SignInTarget
    var progress: SignInProgress?
    var failure: BrowseFailure?
}

// MARK: Accounts and signing in

extension BrowseModel {
    var currentAccount: BrowseAccount? { accounts?.first { $0.id == current } }

    /// Whether there is nobody to search as, and nothing but a sign-in helps.
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
            // What was said when the last account went is over.
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
            // Behind what was said of the sign-in to another account.
            say([notice?.text, lost].compactMap { $0 }.joined(separator: " "), notice?.style ?? .plain)
        }
    }

    /// Another account sees other people: nothing that was read for the one before is shown.
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
        // Without an account the line at the top is where Enter leads to one.
        if current == nil || !isLongEnough { focus = .query }
        sendSearch()
    }

    /// Whether an account has to be signed in to again, as the store or the directory says.
    func needsSignIn(_ account: BrowseAccount) -> Bool { account.needsSignIn || rejectedAccounts.contains(account.id) }

    /// The directory has answered, so it accepts the sign-in of the account in use.
    mutating func noteAccepted() { if let current { rejectedAccounts.remove(current) } }

    mutating func openAccounts() {
        guard let accounts, !accounts.isEmpty else { return offerSignIn() }
        overlay = .accounts(selected: accounts.firstIndex { $0.id == current } ?? 0)
    }

    /// What leads to a person who may search: signing in, or the choice of an account.
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

    /// The sign-ins to another account that the menu has behind the accounts: one for each type, where there are several.
    var signIns: [SignInTarget] { types.count > 1 ? types.map { .another(type: $0) } : [.another(type: nil)] }

    /// Whom a sign-in from this place of the account menu is for.
    func signInTarget(_ position: Int) -> SignInTarget {
        let accounts = accounts ?? []
        if accounts.indices.contains(position) { return .account(accounts[position].id) }
        let rest = position - accounts.count
        return signIns.indices.contains(rest) ? signIns[rest] : .another(type: nil)
    }

    /// The choice of the account menu at this place; those behind the accounts are to sign in to another.
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
            // The same account may see more now, and what failed for want of the sign-in is asked anew.
            details = RecentDetails()
            detail.failure = nil
            if detail.target != nil, detail.running == nil { detail.due = now }
            if search.failure != nil { sendSearch() }
        }
    }
}
