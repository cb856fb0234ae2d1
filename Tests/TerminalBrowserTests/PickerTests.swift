import DirectorySearch
import Testing

@testable import TerminalBrowser

/// Tests the picker, which selects users for another program.
@Suite struct PickerTests {
    private func picker(requiresMail: Bool = true) -> DrivenModel {
        var browser = DrivenModel(picker: BrowsePicker(requiresMail: requiresMail))
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada, .adam, .adele])
        browser.forget()
        return browser
    }

    @Test func `Enter in the search line chooses the selected user`() {
        var browser = picker()
        #expect(browser.shows("Enter choose"))
        browser.press(.down, .enter)
        #expect(browser.effects.contains(.choose(["adam"])))
    }

    @Test func `Enter in the list and in the detail chooses a user too`() {
        for keys in [[Key.tab, .down], [.tab, .tab]] {
            var browser = picker()
            for key in keys { browser.press(key) }
            browser.press(.enter)
            #expect(browser.effects.contains(.choose([keys[1] == .down ? "adam" : "ada"])))
        }
    }

    @Test func `marked users are chosen instead of the selected user`() {
        var browser = picker()
        browser.press(.tab, .character(" "), .down, .down, .character(" "), .up, .enter)
        #expect(browser.effects.contains(.choose(["ada", "adele"])))
    }

    @Test func `a user without a mail address is chosen only for other fields`() {
        var nobody = User()
        (nobody.id, nobody.displayName) = ("x", "Printer")
        for requiresMail in [true, false] {
            var browser = picker(requiresMail: requiresMail)
            browser.type("z")
            browser.wait(.milliseconds(150))
            browser.result([nobody])
            browser.forget()
            browser.press(.enter)
            #expect(browser.effects.contains(.choose(["x"])) == !requiresMail)
            #expect(browser.shows("Printer has no mail address.") == requiresMail)
        }
    }

    @Test func `the picker does not choose a result of an earlier text`() {
        var browser = picker()
        browser.type("x")
        browser.press(.enter)
        #expect(!browser.effects.contains { if case .choose = $0 { true } else { false } })
        #expect(browser.shows("Still searching for adx."))
        browser.result([.grace])
        browser.press(.enter)
        #expect(browser.effects.contains { if case .choose = $0 { true } else { false } })
    }

    @Test func `Esc clears the text and then leaves without a choice`() {
        var browser = picker()
        browser.press(.escape)
        #expect(!browser.effects.contains(.quit))
        browser.press(.escape)
        #expect(browser.effects.contains(.quit))
    }
}
