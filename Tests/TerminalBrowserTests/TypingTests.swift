import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct TypingTests {
    @Test func `arrows move in the list at once, and typing continues the text`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adam, .adele])
        browser.press(.down)
        #expect(browser.selected == "Adam Smith" && browser.model.focus == .query)
        browser.press(.control("n"), .control("p"), .up, .up)
        #expect(browser.selected == "Ada Lovelace")
        browser.press(.pageDown)
        #expect(browser.selected == browser.names.last)
        browser.type("a")
        #expect(browser.model.query.text == "ada" && browser.model.focus == .query)
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adele])
        #expect(browser.selected == "Adele Vance", "the selection follows the user")
    }

    @Test func `one search is sent 150 ms after the last key`() {
        var browser = DrivenModel()
        for letter in ["a", "d", "a"] {
            browser.type(letter)
            browser.wait(.milliseconds(149))
            #expect(browser.effects.isEmpty)
        }
        browser.wait(.milliseconds(1))
        #expect(browser.effects == [.search(1, "ada")])
        browser.wait(.seconds(60))
        #expect(browser.effects.count == 1)
    }

    @Test func `nothing is sent for less than two letters, and the list goes`() {
        var browser = DrivenModel()
        browser.type(" a ")
        browser.wait(.seconds(1))
        #expect(browser.effects.isEmpty)
        #expect(browser.shows("Type at least 2 letters"))
        browser.type("d")
        browser.wait(.seconds(1))
        #expect(browser.effects == [.search(1, "a d")])
        browser.result([.ada])
        #expect(browser.names == ["Ada Lovelace"])
        browser.press(.backspace, .backspace)
        #expect(browser.names.isEmpty)
    }

    @Test func `letters are counted as people see them`() {
        var browser = DrivenModel()
        browser.type("e\u{301}")
        browser.press(.character("\u{302}"))
        browser.wait(.seconds(1))
        #expect(browser.effects.isEmpty)
        browser.type("李")
        browser.wait(.seconds(1))
        #expect(browser.effects == [.search(1, "e\u{301}\u{302}李")])
    }

    @Test func `a key cancels the search that runs, and its late answer is dropped`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        let old = browser.searchNumber
        browser.type("e")
        #expect(browser.effects == [.search(1, "ad"), .cancelSearch])
        browser.send(
            .users(old, BrowsePage(users: [.ada], hasMore: false, source: .directory, isContinuation: false)))
        #expect(browser.names.isEmpty)
        browser.wait(.milliseconds(150))
        browser.send(
            .users(old, BrowsePage(users: [.ada], hasMore: false, source: .directory, isContinuation: false)))
        browser.send(.failed(old, BrowseFailure(summary: "gone")))
        #expect(browser.names.isEmpty)
        browser.result([.adele])
        #expect(browser.names == ["Adele Vance"])
    }

    @Test func `the old list stays, dimmed, until the new one is there`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adele])
        #expect(browser.style("ele Vance") == .plain)
        browser.type("e")
        #expect(browser.style("Adele Vance") == .dimmed)
        browser.wait(.milliseconds(150))
        #expect(browser.style("Adele Vance") == .dimmed)
        browser.result([.ada, .adele])
        #expect(browser.style("le Vance") == .plain)
    }

    @Test func `a text that was taken back before it was sent asks nothing`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada], hasMore: false)
        browser.forget()
        browser.type("x")
        browser.press(.backspace)
        browser.wait(.milliseconds(100))
        #expect(browser.effects.isEmpty)
        #expect(!browser.model.isOutdated)
    }

    @Test func `spaces around the text make no new search`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.type("  ")
        browser.wait(.seconds(1))
        #expect(browser.effects == [.search(1, "ad")])
    }

    @Test func `the text of the command line is searched for at once`() {
        var browser = DrivenModel("ada", accounts: nil)
        #expect(browser.effects.isEmpty)
        browser.send(.accounts([.ada], current: BrowseAccount.ada.id))
        #expect(browser.effects == [.search(1, "ada")])
    }

    @Test func `the copy on this machine answers first and the directory corrects it`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adele], hasMore: true, source: .offline)
        #expect(browser.shows("offline copy"))
        #expect(browser.shows("searching…"))
        browser.press(.down, .down)
        #expect(browser.selected == "Adele Vance")
        browser.result([.ada, .adam, .adele])
        #expect(browser.selected == "Adele Vance")
        #expect(!browser.shows("offline copy"))
        #expect(!browser.shows("searching…"))
    }

    @Test func `each letter looks into the copy on this machine, and what it has is shown before the pause is over`()
        throws
    {
        var browser = DrivenModel()
        browser.type("a")
        #expect(browser.localPreview == nil)
        browser.type("d")
        let first = try #require(browser.localPreview)
        #expect(first.text == "ad")
        browser.type("a")
        let second = try #require(browser.localPreview)
        browser.send(.localPreview(first.number, .cleaned([.grace])))
        #expect(browser.names.isEmpty, "what was looked up for another text is late")
        browser.send(.localPreview(second.number, .cleaned([.ada])))
        #expect(browser.names == ["Ada Lovelace"] && !browser.model.isOutdated && browser.effects.isEmpty)
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "ada")] && browser.names == ["Ada Lovelace"])
        browser.result([.ada, .grace])
        browser.send(.localPreview(second.number, .cleaned([.grace])))
        #expect(browser.names == ["Ada Lovelace", "Grace Hopper"], "the directory has spoken")
    }

    @Test func `the cursor follows a person once somebody put it there, and is on the first row before`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.grace], source: .offline)
        browser.result([.ada, .grace])
        #expect(browser.selected == "Ada Lovelace")
        browser.press(.down, .down)
        #expect(browser.selected == "Grace Hopper")
        browser.press(.control("r"))
        browser.result([.grace, .adele, .ada])
        #expect(browser.selected == "Grace Hopper")
        browser.press(.control("r"))
        browser.result([.adele, .ada, .grace])
        #expect(browser.selected == "Grace Hopper")
    }

    @Test func `with --offline the end of a long list says that there are more, and no page is asked for`() {
        var browser = DrivenModel(isOffline: true)
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adam], hasMore: true, source: .offline)
        browser.forget()
        browser.press(.down, .end)
        #expect(browser.shows("2 of 2+") && browser.shows("There are more: type more letters of the name."))
        browser.wait(.seconds(1))
        #expect(!browser.effects.contains { if case .nextPage = $0 { true } else { false } })
    }

    @Test func `one ideograph is enough, and a paste that is cut is told`() {
        var browser = DrivenModel()
        browser.type("李")
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "李")])
        browser.press(.paste(String(repeating: "an ", count: 500)))
        #expect(browser.shows("The search uses only the start"))
    }

    @Test func `the end of the room for what is typed is told`() {
        var browser = DrivenModel()
        browser.press(.paste(String(repeating: "a", count: QueryText.maximumBytes)))
        #expect(!browser.shows("The search uses only the start"))
        browser.type("b")
        #expect(browser.shows("A search text has at most 256 bytes."))
        #expect(browser.model.query.text.utf8.count == QueryText.maximumBytes)
        browser.press(.backspace)
        browser.type("b")
        #expect(!browser.shows("A search text has at most"))
    }

    @Test func `with --offline the copy's answer is the last`() {
        var browser = DrivenModel(isOffline: true)
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada], source: .offline)
        #expect(browser.shows("offline copy"))
        #expect(!browser.shows("searching…"))
    }

    @Test func `with --offline a copy that is not complete is said to be, also where it has people`() {
        var browser = DrivenModel(isOffline: true)
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.send(
            .users(
                browser.searchNumber,
                BrowsePage(
                    users: [.ada], hasMore: false, source: .offline, isContinuation: false, isPartial: true)))
        #expect(browser.shows("1 of 1 · incomplete copy") && browser.shows("Not complete: lodge sync continues."))
        browser.press(.control("r"))
        browser.result([.ada], source: .offline)
        #expect(browser.shows("1 of 1 · offline copy") && !browser.shows("complete"))
    }

    @Test func `pasted text is searched for as one line`() {
        var browser = DrivenModel()
        browser.press(.paste("Ada\nLove\u{1B}[2Jlace\t"))
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "Ada Love[2Jlace")])
    }

    @Test func `a huge paste is cut, and nothing is parted`() {
        var browser = DrivenModel()
        browser.press(.paste(String(repeating: "👩‍👩‍👧李", count: 100_000)))
        #expect(browser.model.query.text.utf8.count <= QueryText.maximumBytes)
        browser.wait(.milliseconds(150))
        #expect(browser.effects.count == 1)
    }

    @Test func `an empty result says what was searched and what to try`() {
        var browser = DrivenModel()
        browser.type("xq")
        browser.wait(.milliseconds(150))
        browser.result([])
        #expect(browser.shows("No user has a name or address that starts with \"xq\"."))
        #expect(browser.shows("the directory of ada@contoso.com"))
        #expect(browser.shows("Try fewer letters"))
    }
}

extension BrowsePage {
    /// What the copy on this machine has.
    fileprivate static func cleaned(_ users: [User]) -> BrowsePage {
        BrowsePage(users: users, hasMore: false, source: .offline, isContinuation: false)
    }
}
