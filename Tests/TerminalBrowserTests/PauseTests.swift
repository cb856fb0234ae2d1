import DirectorySearch
import Testing

@testable import TerminalBrowser

/// Tests the browser while the directory is throttled or unreachable.
@Suite struct PauseTests {
    private static let throttled = BrowseFailure(
        summary: "the directory takes no more requests for now", retryAfter: .seconds(12))

    @Test func `a throttled search counts down, accepts typing, and then sends the newest text`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.send(.failed(browser.searchNumber, Self.throttled))
        #expect(browser.shows("The directory limits requests. Next attempt in 12 s."))
        browser.wait(.milliseconds(2500))
        #expect(browser.shows("Next attempt in 10 s."))
        browser.forget()
        browser.type("ele")
        #expect(browser.shows("Search adele"))
        browser.wait(.milliseconds(9499))
        #expect(browser.effects.isEmpty)
        browser.wait(.milliseconds(1))
        #expect(browser.effects == [.search(2, "adele")])
        #expect(!browser.shows("limits requests"))
    }

    @Test(arguments: [(80, 24), (40, 10), (20, 5)])
    func `messages appear next to the countdown`(_ columns: Int, _ rows: Int) {
        var browser = DrivenModel(columns: columns, rows: rows)
        browser.list([.ada])
        browser.press(.character("R"))
        browser.send(.failed(browser.searchNumber, Self.throttled))
        browser.press(.character("c"))
        browser.send(.copied("a@b", by: "xsel"))
        #expect(browser.shows("Copied") && browser.shows("12 s"))
        browser.send(.exportFailed("full"))
        #expect(browser.shows("full") && browser.shows("12 s"))
        browser.press(.character("k"))
        #expect(!browser.shows("full") && browser.shows("12 s."))
    }

    @Test func `the delay is limited to between one second and one day`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.send(.failed(1, BrowseFailure(summary: "x", retryAfter: .seconds(Int64.max / 2))))
        #expect(browser.shows("Next attempt in 86400 s."))
        var other = DrivenModel()
        other.type("ad")
        other.wait(.milliseconds(150))
        other.send(.failed(1, BrowseFailure(summary: "x", retryAfter: .zero)))
        other.wait(.milliseconds(999))
        #expect(other.effects.count == 1)
        other.wait(.milliseconds(1))
        #expect(other.effects == [.search(1, "ad"), .search(2, "ad")])
    }

    @Test
    func `a network error keeps the list and shows the retry key, and typing retries too`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada])
        browser.type("e")
        browser.wait(.milliseconds(150))
        browser.send(
            .failed(
                browser.searchNumber,
                BrowseFailure(summary: "the network is unreachable", reason: "no route", isNetwork: true)))
        #expect(browser.shows("The network is unreachable: no route. Enter tries again."))
        #expect(browser.names == ["Ada Lovelace"])
        browser.forget()
        browser.press(.enter)
        #expect(browser.effects == [.search(3, "ade")])
        browser.send(.failed(3, BrowseFailure(summary: "the network is unreachable", isNetwork: true)))
        browser.press(.tab)
        #expect(browser.shows("R tries again."))
        browser.press(.character("R"))
        browser.send(
            .failed(browser.searchNumber, BrowseFailure(summary: "the network is unreachable", isNetwork: true)))
        browser.press(.character("/"))
        browser.type("l")
        browser.wait(.milliseconds(150))
        #expect(browser.effects.last == .search(5, "adel"))
        #expect(!browser.shows("is unreachable"))
    }

    @Test func `an idle browser schedules no ticks`() {
        var browser = DrivenModel()
        browser.list([.ada, .adele])
        browser.answerDetail()
        browser.wait(.seconds(1))
        #expect(browser.wake == nil)
    }
}
