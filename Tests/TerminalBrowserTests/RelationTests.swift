import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct AroundTests {
    @Test func `m shows the manager, and Esc or [ returns to the same user`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam, .adele])
        browser.press(.down)
        browser.answerDetail { $0.manager = .value(.grace) }
        #expect(browser.shows("Manager     Grace Hopper  m"))
        browser.press(.character("m"))
        #expect(browser.names == ["Grace Hopper"])
        #expect(browser.shows("Manager of Adam Smith"))
        browser.press(.escape)
        #expect(browser.selected == "Adam Smith")
        #expect(browser.names.count == 3)
        browser.press(.character("]"))
        #expect(browser.names == ["Grace Hopper"])
        browser.press(.character("["))
        #expect(browser.selected == "Adam Smith")
        #expect(browser.shows("Search ad"))
    }

    @Test func `m requests the detail immediately and opens the manager when the response arrives`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.press(.character("m"))
        #expect(browser.effects == [.detail(2, "ada")])
        #expect(browser.shows("Asking for the manager of Ada Lovelace…"))
        browser.answerDetail { $0.manager = .value(.grace) }
        #expect(browser.names == ["Grace Hopper"])
    }

    @Test func `moving the cursor cancels the change to the manager`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam])
        browser.press(.character("m"), .down)
        #expect(browser.effects == [.detail(2, "ada"), .cancel(2)])
        var result = UserDetail(user: .ada)
        result.manager = .value(.grace)
        browser.send(.detail(2, result))
        #expect(browser.selected == "Adam Smith")
        browser.answerDetail { $0.manager = .value(.grace) }
        #expect(browser.selected == "Adam Smith")
    }

    @Test func `m reports a missing manager and one that is not permitted`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam])
        browser.answerDetail { $0.manager = .none }
        browser.press(.character("m"))
        #expect(browser.shows("Ada Lovelace has no manager."))
        browser.press(.down)
        browser.answerDetail {
            $0.manager = .notPermitted(DirectoryError(.notPermitted(permissions: ["User.Read.All"])))
        }
        browser.press(.character("m"))
        #expect(browser.shows("The manager of Adam Smith: not permitted without User.Read.All. a signs in."))
        #expect(browser.names.count == 2)
    }

    @Test func `r lists the direct reports`() {
        var browser = DrivenModel()
        browser.list([.grace], for: "gr")
        browser.press(.character("r"))
        #expect(browser.effects == [.reports(2, "grace")])
        var result = UserDetail(user: User())
        result.reports = .value([User.ada, .adam].map { DirectoryObject(json: $0.json) })
        browser.send(.detail(2, result))
        #expect(browser.names == ["Ada Lovelace", "Adam Smith"])
        #expect(browser.shows("Reports of Grace Hopper"))
        #expect(browser.shows("1 of 2"))
        browser.press(.character("["))
        #expect(browser.shows("Reports     2 people  r"))
        browser.forget()
        browser.press(.character("r"))
        #expect(browser.names == ["Ada Lovelace", "Adam Smith"])
        #expect(!browser.effects.contains(.reports(3, "grace")), "the browser does not request cached reports again")
    }

    @Test func `R reloads reports and keeps the selected user, and [ still goes back`() {
        var browser = DrivenModel()
        browser.list([.grace], for: "gr")
        func reports(_ users: [User]) -> UserDetail {
            var result = UserDetail(user: User())
            result.reports = .value(users.map { DirectoryObject(json: $0.json) })
            return result
        }
        browser.press(.character("r"))
        browser.send(.detail(2, reports([.ada, .adam])))
        browser.press(.down)
        browser.answerDetail()
        browser.forget()
        browser.press(.character("R"))
        #expect(browser.effects == [.reports(browser.lastNumber, "grace")])
        #expect(browser.names == ["Ada Lovelace", "Adam Smith"])
        browser.send(.detail(browser.lastNumber, reports([.adele, .ada, .adam])))
        #expect(browser.names == ["Adele Vance", "Ada Lovelace", "Adam Smith"] && browser.selected == "Adam Smith")
        #expect(browser.shows("Reports of Grace Hopper"))
        browser.press(.character("R"))
        browser.send(.failed(browser.lastNumber, BrowseFailure(summary: "the network is unreachable")))
        #expect(browser.shows("The network is unreachable.") && browser.names.count == 3)
        browser.press(.character("R"))
        browser.send(.detail(browser.lastNumber, reports([])))
        #expect(browser.shows("Grace Hopper has no direct reports.") && browser.names.count == 3)
        browser.press(.character("["))
        #expect(browser.names == ["Grace Hopper"] && browser.model.past.isEmpty)
    }

    @Test func `R reloads a manager, and ctrl-r searches for a new text`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail { $0.manager = .value(.grace) }
        browser.press(.character("m"))
        browser.answerDetail()
        browser.forget()
        browser.press(.character("R"))
        #expect(browser.effects == [.detail(browser.lastNumber, "ada")])
        var result = UserDetail(user: .ada)
        result.manager = .value(.adele)
        browser.send(.detail(browser.lastNumber, result))
        #expect(browser.names == ["Adele Vance"] && browser.shows("Manager of Ada Lovelace"))
        browser.press(.character("/"))
        browser.type("x")
        browser.forget()
        browser.press(.control("r"))
        #expect(browser.effects == [.search(browser.lastNumber, "adx")])
    }

    @Test func `missing or failed reports keep the list`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam])
        var result = UserDetail(user: User())
        result.reports = .none
        browser.press(.character("r"))
        browser.send(.detail(2, result))
        #expect(browser.shows("Ada Lovelace has no direct reports."))
        browser.press(.down, .character("r"))
        browser.send(.failed(browser.lastNumber, BrowseFailure(summary: "the network is unreachable")))
        #expect(browser.shows("The network is unreachable."))
        #expect(browser.names.count == 2)
    }

    @Test func `the history contains used searches, not texts that were typed over`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada])
        browser.type("e")
        browser.wait(.milliseconds(150))
        browser.result([.adele])
        browser.press(.down, .character("/"), .control("u"))
        browser.list([.grace], for: "gr")
        browser.press(.character("["))
        #expect(browser.names == ["Adele Vance"])
        #expect(browser.shows("Search ade"))
        browser.press(.character("["))
        #expect(browser.shows("There is nothing to go back to."))
        browser.press(.character("]"))
        #expect(browser.names == ["Grace Hopper"])
        browser.press(.character("]"))
        #expect(browser.shows("There is nothing to go forward to."))
    }

    @Test func `the history is limited in entries and users`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail { $0.manager = .value(.ada) }
        for _ in 0..<200 { browser.press(.character("m")) }
        #expect(browser.model.past.count == BrowseModel.maximumHistoryEntries)
        var heavy = DrivenModel()
        for number in 0..<6 {
            heavy.list(User.many(15_000), for: "ad\(number)")
            heavy.press(.character("/"), .control("u"))
        }
        #expect(heavy.model.past.count == 2)
    }

    @Test func `[ restores a cleared text`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada])
        browser.press(.escape)
        #expect(browser.shows("Type at least 2 letters"))
        browser.press(.escape)
        #expect(browser.shows("ctrl-c ends the program"))
        #expect(!browser.effects.contains(.quit))
        browser.press(.tab, .character("["))
        #expect(browser.names == ["Ada Lovelace"])
        #expect(browser.shows("Search ad"))
    }
}
