import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct AccountPaneTests {
    @Test func `without an account the browser offers a sign-in and then searches for the typed text`() {
        var browser = DrivenModel(accounts: [])
        #expect(browser.shows("You are not signed in yet."))
        #expect(browser.shows("Enter signs in."))
        browser.type("ada")
        browser.wait(.seconds(1))
        #expect(browser.effects.isEmpty)
        browser.press(.enter)
        #expect(browser.effects == [.signIn(1, nil)])
        browser.send(.signIn(1, .browser(address: "https://login.example/authorize?x=1")))
        #expect(browser.shows("Your browser shows the sign-in page."))
        #expect(browser.shows("https://login.example/authorize?x=1"))
        browser.press(.character("c"))
        #expect(browser.effects.last == .copy("https://login.example/authorize?x=1"))
        browser.send(.signIn(1, .done(label: "ada@contoso.com")))
        browser.send(.accounts([.ada], current: BrowseAccount.ada.id))
        #expect(browser.effects.last == .search(2, "ada"))
        #expect(browser.shows("Signed in as ada@contoso.com."))
    }

    @Test func `a device code has the heading style`() {
        var browser = DrivenModel(columns: 40, rows: 10, accounts: [])
        browser.press(.enter)
        browser.send(.signIn(1, .code("ABCD-EFGH", address: "https://example.com/device")))
        #expect(browser.shows("ABCD-EFGH"))
        #expect(browser.style("ABCD-EFGH") == .heading)
    }

    @Test func `a failed sign-in shows the reason and can be retried or closed`() {
        var browser = DrivenModel(accounts: [])
        browser.press(.enter)
        browser.send(.signIn(1, .failed(BrowseFailure(summary: "the sign-in was refused", hint: "ask for access"))))
        #expect(browser.shows("The sign-in was refused."))
        #expect(browser.shows("What helps: ask for access"))
        browser.press(.enter)
        #expect(browser.effects == [.signIn(1, nil), .signIn(2, nil)])
        browser.send(.signIn(1, .done(label: "late")))
        #expect(!browser.shows("Signed in"))
        browser.press(.escape)
        #expect(browser.effects.last == .cancel(2))
        #expect(browser.shows("You are not signed in yet."))
    }

    @Test func `a opens the accounts, and Enter switches and clears results and marks`() {
        var browser = DrivenModel(accounts: [.ada, .eve])
        browser.list([.ada])
        browser.answerDetail()
        browser.press(.character(" "))
        #expect(browser.shows("1 marked"))
        browser.forget()
        browser.press(.character("a"))
        #expect(browser.shows("ada@contoso.com  graph"))
        #expect(browser.shows("eve@fabrikam.com  other"))
        #expect(browser.shows("Sign in to another account"))
        browser.press(.down, .enter)
        #expect(browser.effects == [.use("a2"), .search(3, "ad")])
        #expect(browser.names.isEmpty)
        #expect(browser.shows("Now searching as eve@fabrikam.com. The marks are removed."))
        #expect(!browser.shows("1 marked"))
        #expect(browser.lines[0].hasSuffix("eve@fabrikam.com"))
        browser.send(.accounts([.ada, .eve], current: BrowseAccount.eve.id))
        #expect(browser.effects.count == 2, "the confirmation of the session has no effect")
        browser.press(.character("["))
        #expect(browser.names.isEmpty)
    }

    @Test func `the last row of the menu signs in to another account`() {
        var browser = DrivenModel(accounts: [.ada])
        browser.press(.tab, .character("a"), .character("G"), .enter)
        #expect(browser.effects == [.signIn(1, nil)])
    }

    @Test func `an account that needs a sign-in is labeled, and Enter starts the sign-in`() {
        var eve = BrowseAccount.eve
        eve.needsSignIn = true
        var browser = DrivenModel(accounts: [.ada, eve])
        browser.press(.tab, .character("a"))
        #expect(browser.shows("needs a sign-in"))
        browser.press(.down, .enter)
        #expect(browser.effects == [.signIn(1, "a2")])
    }

    @Test func `s signs in again, and the browser reloads parts that were not permitted`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail {
            $0.manager = .notPermitted(DirectoryError(.notPermitted(permissions: ["User.Read.All"])))
        }
        browser.forget()
        browser.press(.character("a"), .character("s"))
        #expect(browser.effects == [.signIn(3, "a1")])
        browser.send(.signIn(3, .done(label: "ada@contoso.com")))
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.signIn(3, "a1"), .detail(4, "ada")])
    }

    @Test func `a search that needs a sign-in shows the key, and continues after the sign-in`() {
        var browser = DrivenModel("ada")
        browser.send(
            .failed(1, BrowseFailure(summary: "the directory does not accept the sign-in", needsSignIn: true)))
        #expect(browser.shows("The directory does not accept the sign-in."))
        #expect(browser.shows("Enter signs in."))
        browser.forget()
        browser.press(.enter)
        #expect(browser.effects == [.signIn(2, "a1")])
        browser.send(.signIn(2, .done(label: "ada@contoso.com")))
        #expect(browser.effects.last == .search(3, "ada"))
    }

    @Test func `the browser notices accounts that another process removes or adds`() {
        var browser = DrivenModel(accounts: [.ada, .eve])
        browser.list([.ada])
        browser.send(.accounts([.eve], current: BrowseAccount.eve.id))
        #expect(browser.effects.last == .search(2, "ad"))
        browser.send(.accounts([], current: nil))
        #expect(browser.shows("You are not signed in yet."))
        #expect(browser.names.isEmpty)
    }

    @Test func `without an active account Enter opens the accounts`() {
        var browser = DrivenModel("ada", accounts: nil)
        browser.send(.accounts([.ada, .eve], current: nil))
        #expect(browser.shows("No account is chosen."))
        browser.press(.enter, .down, .enter)
        #expect(browser.effects == [.use("a2"), .search(1, "ada")])
    }

    @Test func `the browser reports an account that another process removed, and Enter signs in`() {
        for pane in BrowseModel.Pane.allCases {
            var browser = DrivenModel(accounts: [.ada])
            browser.list([.ada])
            browser.press(.character(" "))
            while browser.model.focus != pane { browser.press(.tab) }
            browser.forget()
            browser.send(.accounts([], current: nil))
            #expect(browser.shows("The account was removed by another program. The marks are removed."))
            #expect(browser.shows("You are not signed in yet.") && browser.shows("Enter sign in"))
            browser.press(.enter)
            #expect(browser.effects == [.signIn(browser.lastNumber, nil)])
        }
        var browser = DrivenModel(accounts: [.ada, .eve])
        browser.list([.ada])
        browser.send(.accounts([.eve], current: BrowseAccount.eve.id))
        #expect(
            browser.shows("The account was removed by another program. Now searching as eve@fabrikam.com."))
        browser.send(.accounts([], current: nil))
        browser.send(.accounts([.ada], current: BrowseAccount.ada.id))
        #expect(browser.shows("Now searching as ada@contoso.com.") && !browser.shows("was removed"))
    }

    @Test func `the browser reports marks that a sign-in to another account removes`() {
        var browser = DrivenModel(accounts: [.ada])
        browser.list([.ada])
        browser.press(.character(" "), .character("a"), .character("G"), .enter)
        browser.send(.signIn(browser.lastNumber, .done(label: "eve@fabrikam.com")))
        browser.send(.accounts([.ada, .eve], current: BrowseAccount.eve.id))
        #expect(browser.shows("Signed in as eve@fabrikam.com. The marks are removed."))
    }

    @Test func `a directory response clears "needs a sign-in", but the offline copy does not`() {
        var browser = DrivenModel(accounts: [.ada])
        browser.list([.ada])
        browser.press(.character("R"))
        let rejectedAccounts = BrowseFailure(summary: "the directory does not accept the sign-in", needsSignIn: true)
        browser.send(.failed(browser.searchNumber, rejectedAccounts))
        browser.press(.character("a"))
        #expect(browser.shows("needs a sign-in"))
        browser.send(.accounts([.ada], current: BrowseAccount.ada.id))
        #expect(browser.shows("needs a sign-in"), "the store does not have the rejection")
        browser.press(.escape, .character("R"))
        browser.result([.ada], source: .offline)
        browser.press(.character("a"))
        #expect(browser.shows("needs a sign-in"), "the offline copy does not check the sign-in")
        browser.press(.escape)
        browser.result([.ada])
        browser.press(.character("a"))
        #expect(!browser.shows("needs a sign-in"))
        browser.forget()
        browser.press(.enter)
        #expect(browser.effects.isEmpty)
        var ada = BrowseAccount.ada
        ada.needsSignIn = true
        browser.send(.accounts([ada], current: ada.id))
        browser.press(.character("R"))
        browser.result([.ada])
        browser.press(.character("a"))
        #expect(browser.shows("needs a sign-in"), "a directory response does not override the store")
    }

    @Test func `with several types the menu has a sign-in row for each type`() {
        var browser = DrivenModel(accounts: [.ada], types: ["graph", "other"])
        browser.press(.tab, .character("a"))
        #expect(browser.shows("Sign in to another account: graph"))
        #expect(browser.shows("Sign in to another account: other"))
        browser.press(.character("G"), .enter)
        #expect(browser.effects == [.signIn(1, nil)] && browser.signInType == "other")
        browser.send(.signIn(1, .failed(BrowseFailure(summary: "no"))))
        browser.press(.enter)
        #expect(browser.effects.last == .signIn(2, nil) && browser.signInType == "other")
        browser.press(.escape, .character("a"), .down, .character("s"))
        #expect(browser.effects.last == .signIn(3, nil) && browser.signInType == "graph")
        var single = DrivenModel(accounts: [.ada], types: ["graph"])
        single.press(.tab, .character("a"), .down, .down)
        #expect(single.shows(">  Sign in to another account") && !single.shows("account: "))
        single.press(.enter)
        #expect(single.effects == [.signIn(1, nil)] && single.signInType == nil)
    }

    @Test func `accounts with the same name show their types, and other accounts do not`() throws {
        func account(_ id: String, _ label: String, _ type: String) -> BrowseAccount {
            BrowseAccount(id: id, label: label, type: type, needsSignIn: false)
        }
        let told = BrowseAccount.disambiguated([
            account("1", "ada@x", "graph"), account("2", "ada@x", "other"), account("3", "eve@x", "other"),
        ])
        #expect(told.map(\.label) == ["ada@x (graph)", "ada@x (other)", "eve@x"])
        let long = BrowseAccount.disambiguated([
            account("1", "ada.lovelace@contoso.com", "graph"), account("2", "ada.lovelace@contoso.com", "other"),
        ])
        for columns in [40, 60, 120] {
            #expect(DrivenModel(columns: columns, accounts: long).lines[0].hasSuffix(" (graph)"), "\(columns)")
        }
        let menu = DrivenModel(accounts: long)
        #expect(BrowseDrawing(model: menu.model).accountName == "ada.lovelace@contoso.com (graph)")
    }
}
