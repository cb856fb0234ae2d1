import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct TypingTests {
    @Test func `arrow keys move in the list immediately, and typing continues the text`() {
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

    @Test func `the browser sends one search 150 ms after the last key`() {
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

    @Test func `fewer than two letters send no request and clear the list`() {
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

    @Test func `letters are counted as grapheme clusters`() {
        var browser = DrivenModel()
        browser.type("e\u{301}")
        browser.press(.character("\u{302}"))
        browser.wait(.seconds(1))
        #expect(browser.effects.isEmpty)
        browser.type("李")
        browser.wait(.seconds(1))
        #expect(browser.effects == [.search(1, "e\u{301}\u{302}李")])
    }

    @Test func `a key cancels the running search, and the browser drops its late result`() {
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

    @Test func `the old list is dimmed until the new result arrives`() {
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

    @Test func `typing a letter and deleting it causes no request`() {
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

    @Test func `spaces around the text cause no new search`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.type("  ")
        browser.wait(.seconds(1))
        #expect(browser.effects == [.search(1, "ad")])
    }

    @Test func `the browser searches for the command-line text immediately`() {
        var browser = DrivenModel("ada", accounts: nil)
        #expect(browser.effects.isEmpty)
        browser.send(.accounts([.ada], current: BrowseAccount.ada.id))
        #expect(browser.effects == [.search(1, "ada")])
    }

    @Test func `results come from the offline copy first and then from the directory`() {
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

    @Test func `each letter searches the offline copy and shows its results before the delay ends`()
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
        #expect(browser.names.isEmpty, "the results of another text are dropped")
        browser.send(.localPreview(second.number, .cleaned([.ada])))
        #expect(browser.names == ["Ada Lovelace"] && !browser.model.isOutdated && browser.effects.isEmpty)
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "ada")] && browser.names == ["Ada Lovelace"])
        browser.result([.ada, .grace])
        browser.send(.localPreview(second.number, .cleaned([.grace])))
        #expect(browser.names == ["Ada Lovelace", "Grace Hopper"], "the directory's results take precedence")
    }

    @Test func `the cursor stays on the first row until it is moved, then it follows the user`() {
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

    @Test func `with --offline the end of a long list reports more users and requests no page`() {
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

    @Test func `one ideograph is enough for a search, and the browser reports a shortened paste`() {
        var browser = DrivenModel()
        browser.type("李")
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "李")])
        browser.press(.paste(String(repeating: "an ", count: 500)))
        #expect(browser.shows("The search uses only the start"))
    }

    @Test func `the browser reports a search text of maximum length`() {
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

    @Test func `with --offline the result of the offline copy is final`() {
        var browser = DrivenModel(isOffline: true)
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada], source: .offline)
        #expect(browser.shows("offline copy"))
        #expect(!browser.shows("searching…"))
    }

    @Test func `with --offline the browser reports an incomplete copy`() {
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

    @Test func `pasted text becomes one line`() {
        var browser = DrivenModel()
        browser.press(.paste("Ada\nLove\u{1B}[2Jlace\t"))
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(1, "Ada Love[2Jlace")])
    }

    @Test func `a huge paste is cut between grapheme clusters`() {
        var browser = DrivenModel()
        browser.press(.paste(String(repeating: "👩‍👩‍👧李", count: 100_000)))
        #expect(browser.model.query.text.utf8.count <= QueryText.maximumBytes)
        browser.wait(.milliseconds(150))
        #expect(browser.effects.count == 1)
    }

    @Test func `an empty result states the search and suggests another`() {
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
    /// Creates a page from the offline copy.
    fileprivate static func cleaned(_ users: [User]) -> BrowsePage {
        BrowsePage(users: users, hasMore: false, source: .offline, isContinuation: false)
    }
}
