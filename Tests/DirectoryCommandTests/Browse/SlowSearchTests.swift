import DirectorySearch
import Testing

@testable import directory

/// Keys that come before the answer does.
@Suite struct SlowSearchTests {
    @Test func `nobody is listed yet is not said once somebody is`() {
        var browser = DrivenModel()
        browser.type("grace")
        browser.press(.enter, .character("j"), .character("c"))
        #expect(browser.shows("Still searching for grace."))
        browser.answer([.grace])
        #expect(!browser.shows("Still searching") && browser.shows("Grace Hopper"))
        var glanced = DrivenModel()
        glanced.type("grace")
        glanced.press(.enter, .character("c"))
        let page = BrowsePage(people: [.grace], hasMore: false, source: .offline, isContinuation: false)
        glanced.send(.glance(glanced.glance?.number ?? 0, page))
        #expect(!glanced.shows("Still searching") && glanced.shows("Grace Hopper"))
        var failed = DrivenModel()
        failed.type("grace")
        failed.press(.enter, .character("c"))
        failed.send(.failed(failed.searchNumber, BrowseFailure(summary: "the network does not answer")))
        #expect(!failed.shows("Still searching") && failed.shows("The network does not answer."))
        failed.press(.character("c"))
        #expect(failed.shows("Nobody is listed"))
    }
}
