import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct CopyMenuTests {
    @Test func `c copies the mail address and reports the tool`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.press(.character("c"))
        #expect(browser.effects == [.copy("ada@contoso.com")])
        browser.send(.copied("ada@contoso.com", by: "wl-copy"))
        #expect(browser.shows("Copied ada@contoso.com by wl-copy."))
        browser.send(.copyFailed("no clipboard is there"))
        #expect(browser.shows("This was not copied: no clipboard is there."))
    }

    @Test func `c reports a user without a mail address`() {
        var browser = DrivenModel()
        browser.list([.person("x", "Xavier", mail: nil)])
        browser.press(.character("c"))
        #expect(browser.effects.isEmpty)
        #expect(browser.shows("Xavier has no mail address; y lists what can be copied."))
    }

    @Test func `y lists everything that can be copied`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail {
            $0.user.mobilePhone = "+1 425 555 0199"
            $0.user.userPrincipalName = "ada@contoso.onmicrosoft.com"
        }
        browser.forget()
        browser.press(.character("y"))
        let labels = [
            "Mail", "Name", "Name and mail", "Phone", "Mobile", "Title", "UPN", "Id", "vCard",
        ]
        for label in labels { #expect(browser.shows(label)) }
        browser.press(.down, .enter)
        #expect(browser.effects == [.copy("Ada Lovelace")])
        #expect(browser.model.overlay == nil)
        browser.press(.character("y"), .character("4"))
        #expect(browser.effects.last == .copy("+1 425 555 0100"))
        browser.press(.character("y"), .character("G"), .enter)
        guard case .copy(let card) = browser.effects.last else { Issue.record("the last effect is not a copy"); return }
        #expect(card.hasPrefix("BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada Lovelace\r\n"))
        browser.send(.copied(card, by: "OSC 52"))
        #expect(browser.shows("Copied the vCard of Ada Lovelace by OSC 52."))
    }

    @Test func `copied text contains no control characters`() {
        var browser = DrivenModel()
        browser.list([.person("x", "Xavier\nrm -rf ~\r\u{1B}[A")])
        browser.press(.character("y"), .character("2"))
        #expect(browser.effects == [.copy("Xavier rm -rf ~  [A")])
    }

    @Test func `Esc closes the menu without copying`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.press(.character("y"), .escape)
        #expect(browser.model.overlay == nil)
        #expect(browser.effects.isEmpty)
        #expect(browser.model.focus == .list)
    }
}
