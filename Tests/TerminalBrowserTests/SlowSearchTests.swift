import DirectorySearch
import Testing

@testable import TerminalBrowser

/// Tests keys pressed before the response arrives.
@Suite struct SlowSearchTests {
    @Test func `"Still searching" disappears when results arrive`() {
        var browser = DrivenModel()
        browser.type("grace")
        browser.press(.enter, .character("j"), .character("c"))
        #expect(browser.shows("Still searching for grace."))
        browser.result([.grace])
        #expect(!browser.shows("Still searching") && browser.shows("Grace Hopper"))
        var glanced = DrivenModel()
        glanced.type("grace")
        glanced.press(.enter, .character("c"))
        let page = BrowsePage(users: [.grace], hasMore: false, source: .offline, isContinuation: false)
        glanced.send(.localPreview(glanced.localPreview?.number ?? 0, page))
        #expect(!glanced.shows("Still searching") && glanced.shows("Grace Hopper"))
        var failed = DrivenModel()
        failed.type("grace")
        failed.press(.enter, .character("c"))
        failed.send(.failed(failed.searchNumber, BrowseFailure(summary: "the network is unreachable")))
        #expect(!failed.shows("Still searching") && failed.shows("The network is unreachable."))
        failed.press(.character("c"))
        #expect(failed.shows("The list is empty"))
    }

    @Test(arguments: ["c", "y", " ", "m", "r"])
    func `keys do not act on results of an earlier text`(_ key: Character) {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail { $0.manager = .value(.adele) }
        browser.press(.character("/"), .control("u"))
        browser.list([.ada])
        browser.press(.character("/"))
        browser.type("x")
        browser.wait(.milliseconds(150))
        browser.forget()
        browser.press(.enter, .character(key))
        #expect(browser.shows("Still searching for adx."))
        #expect(browser.effects.isEmpty && browser.model.marked.isEmpty && browser.model.overlay == nil)
        #expect(browser.names == ["Ada Lovelace"])
        let before = browser.text
        browser.result([.adam])
        browser.press(.character(key))
        #expect(browser.text != before && !browser.shows("Still searching"))
    }

    @Test func `a list stays usable while it reloads and after its search fails`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.press(.character("R"), .character("c"))
        #expect(browser.effects.last == .copy("ada@contoso.com"))
        browser.result([.ada])
        browser.press(.character("/"))
        browser.type("x")
        browser.wait(.milliseconds(150))
        browser.send(.failed(browser.searchNumber, BrowseFailure(summary: "the network is unreachable")))
        browser.forget()
        browser.press(.tab, .character("c"), .character(" "))
        #expect(browser.effects.first == .copy("ada@contoso.com") && browser.model.marked.count == 1)
    }
}
