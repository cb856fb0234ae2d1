import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct HelpPageTests {
    /// Creates a browser in which every key has an effect: users above and below the cursor, history in both
    /// directions, and a mark.
    private func busy(_ pane: BrowseModel.Pane?) -> DrivenModel {
        var browser = DrivenModel(accounts: [.ada, .eve])
        if pane == .query {
            browser.type("ada love")
            browser.wait(.milliseconds(150))
            browser.result(User.many(50))
            for _ in 0..<4 { browser.press(.left) }
            for _ in 0..<20 { browser.press(.down) }
            browser.forget()
            return browser
        }
        browser.list(User.many(50), for: "one")
        browser.press(.character("/"), .control("u"))
        browser.list(User.many(50), for: "two")
        for _ in 0..<20 { browser.press(.down) }
        browser.answerDetail { $0.manager = .value(.grace) }
        browser.press(.character(" "), .character("m"), .character("["))
        browser.forget()
        return browser
    }

    @Test func `every key on the help page has an effect`() {
        for section in KeyHelp.sections {
            for entry in section.entries {
                for key in entry.keys {
                    var browser = busy(section.pane)
                    let before = browser.model.screen()
                    browser.press(key)
                    #expect(
                        browser.model.screen() != before || !browser.effects.isEmpty,
                        "\(entry.shown) in \(section.title) has no effect")
                    #expect(!browser.shows("has no function here"), "\(entry.shown) is not a key")
                }
            }
        }
    }

    @Test func `? opens the help from every pane and Esc closes it`() {
        for pane in BrowseModel.Pane.allCases {
            var browser = busy(nil)
            while browser.model.focus != pane { browser.press(.tab) }
            browser.press(.character("?"))
            #expect(browser.shows("Keys"))
            #expect(browser.shows("In the search line"))
            browser.press(.character("G"))
            #expect(browser.shows("ctrl-c"))
            browser.press(.escape)
            #expect(browser.model.focus == pane)
            #expect(!browser.shows("In the search line"))
        }
    }

    @Test func `an unknown key refers to the help`() {
        var browser = busy(nil)
        browser.press(.character("x"))
        #expect(browser.shows("x has no function here: / goes to the search line, ? shows the keys."))
        #expect(browser.effects.isEmpty)
    }

    @Test func `q quits from list and detail and types a letter in the search line; ctrl-c quits everywhere`() {
        var browser = busy(nil)
        browser.press(.character("/"), .character("q"))
        #expect(!browser.effects.contains(.quit))
        browser.press(.tab, .character("q"))
        #expect(browser.effects.last == .quit)
        for key in ["?", "L", "a", "y"] {
            var browser = busy(nil)
            browser.press(.character(Character(key)), .character("q"))
            #expect(!browser.effects.contains(.quit), "q closes what \(key) opened")
            #expect(browser.model.overlay == nil)
            browser.press(.character(Character(key)), .control("c"))
            #expect(browser.effects.last == .quit)
        }
    }

    @Test func `ctrl-z suspends, and resuming and ctrl-l redraw`() {
        var browser = busy(nil)
        browser.press(.control("z"))
        browser.send(.resumed)
        browser.press(.control("l"))
        #expect(browser.effects == [.suspend, .redraw, .redraw])
    }

    @Test func `the request log scrolls and is bounded`() {
        var browser = busy(nil)
        for number in 0..<700 { browser.send(.logged("GET /v1.0/users?n=\(number) 200 1 ms\u{1B}[2J")) }
        #expect(browser.model.log.count == BrowseModel.maximumLogLines)
        browser.press(.character("L"))
        #expect(browser.shows(#"n=699 200 1 ms\u{1B}[2J"#))
        browser.press(.up)
        #expect(!browser.shows("n=699 "))
        browser.press(.character("g"))
        #expect(browser.shows("n=200 "))
        browser.press(.character("G"))
        #expect(browser.shows("n=699 "))
        browser.press(.character("L"))
        #expect(!browser.shows("n=699 "))
    }

    @Test(arguments: [20, 33, 34, 40, 60, 80]) func `the help page truncates no word`(columns: Int) {
        let text = KeyHelp.lines(columns).map { $0.pieces.map(\.text).joined() }
        #expect(!text.contains { $0.contains("…") })
        let words = text.joined(separator: " ").split(separator: " ")
        let all = words.joined(separator: " ")
        for entry in KeyHelp.sections.flatMap(\.entries) {
            #expect(all.contains("\(entry.shown) \(entry.words)"), "\(entry.shown)")
        }
        #expect(KeyHelp.lines(columns).allSatisfy { $0.width <= columns })
    }

    @Test func `the help page has a section for keys that work in every pane`() {
        #expect(KeyHelp.sections.map(\.title).contains("In every pane"))
    }
}
