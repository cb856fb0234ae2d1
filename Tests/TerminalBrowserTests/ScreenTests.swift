import DirectorySearch
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser

@Suite struct ScreenTests {
    /// Users with names in several scripts, and with hostile names.
    static let users: [User] = [
        .ada,
        .person("adachi", "安達 太郎", title: "営業部長", phone: "+81 3 5555 0142"),
        .person("adam", "آدم الحسن", title: "مهندس"),
        .person("nunez", "Ada\u{301}n Nu\u{301}n\u{303}ez", title: "Disen\u{303}ador"),
        .person("byron", "👩\u{200D}💻 Ada Byron 🇬🇧", title: "Poet ❤\u{FE0F}"),
        .person("kim", "김 아담", title: "개발자"),
        .person("evil", "Ada \u{202E}nimdA\u{1B}[2J", title: "Line\nbreak"),
        .person("long", "Adelheid Maria Theresia von und zu Hohenstein-Wartenburg", title: "Head of Everything"),
        .person("nomail", "Adela Quinn", mail: nil),
    ]

    /// Creates a browser that lists these users and shows the first user's detail.
    static func browser(_ columns: Int, _ rows: Int) -> DrivenModel {
        var browser = DrivenModel(columns: columns, rows: rows)
        browser.list(Self.users, hasMore: true)
        browser.answerDetail {
            $0.user.department = "Analytical Engines"
            $0.user.userPrincipalName = "ada@contoso.onmicrosoft.com"
            $0.manager = .value(.grace)
            $0.photo = .none
        }
        return browser
    }

    @Test func `the screen of 40 by 10`() {
        compare(
            Self.browser(40, 10),
            #"""
            Search ad                  ada@contoso.…
            People · ad ──────────── 1 of 9+ · more…
            > Ada Lovelace         Engineer
              安達 太郎            営業部長
              آدم الحسن            مهندس
            Ada Lovelace ───────────── 3 of 10 lines
            Mail        ada@contoso.com
            Phone       +1 425 555 0100
            Title       Engineer
            Enter detail  / search  ? help  q quit
            """#)
    }

    @Test func `the screen of 80 by 24`() {
        compare(
            Self.browser(80, 24),
            #"""
            Search ad                                                        ada@contoso.com
            People · ad ──────────────────────────────────────────────────── 1 of 9+ · more…
            > Ada Lovelace             ada@contoso.com               Engineer
              安達 太郎                adachi@contoso.com            営業部長
              آدم الحسن                adam@contoso.com              مهندس
              Adán Núñez               nunez@contoso.com             Diseñador
              👩‍💻 Ada Byron 🇬🇧          byron@contoso.com             Poet ❤️
              김 아담                  kim@contoso.com               개발자
              Ada \u{202E}nimdA\u{1B…  evil@contoso.com              Line\nbreak
              Adelheid Maria Theresi…  long@contoso.com              Head of Everything
              Adela Quinn
            Ada Lovelace ───────────────────────────────────────────────────────────────────
            Mail        ada@contoso.com
            Phone       +1 425 555 0100
            Title       Engineer
            Department  Analytical Engines
            Manager     Grace Hopper  m
            Reports     r shows them
            Groups      M shows them
            Photo       none
            UPN         ada@contoso.onmicrosoft.com
            Id          ada

            Enter detail  / search  c copy mail  m manager  r reports  ? help  q quit
            """#)
    }

    @Test func `the screen of 120 by 40`() {
        compare(
            Self.browser(120, 40),
            #"""
            Search ad                                                                                                ada@contoso.com
            People · ad ───────────────────────────── 1 of 9+ · more… │ Ada Lovelace ───────────────────────────────────────────────
            > Ada Lovelace                   Engineer                 │ Mail        ada@contoso.com
              安達 太郎                      営業部長                 │ Phone       +1 425 555 0100
              آدم الحسن                      مهندس                    │ Title       Engineer
              Adán Núñez                     Diseñador                │ Department  Analytical Engines
              👩‍💻 Ada Byron 🇬🇧                Poet ❤️                  │ Manager     Grace Hopper  m
              김 아담                        개발자                   │ Reports     r shows them
              Ada \u{202E}nimdA\u{1B}[2J     Line\nbreak              │ Groups      M shows them
              Adelheid Maria Theresia von …  Head of Everything       │ Photo       none
              Adela Quinn                                             │ UPN         ada@contoso.onmicrosoft.com
                                                                      │ Id          ada
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
                                                                      │
            Enter detail  / search  c copy mail  m manager  r reports  y copy menu  space mark  M groups  ? help  q quit
            """#)
    }

    @Test func `the screen of 300 by 80`() {
        let browser = Self.browser(300, 80)
        #expect(browser.lines.count == 80)
        #expect(browser.lines[0].hasSuffix("ada@contoso.com"))
        #expect(TerminalText.width(browser.lines[0]) == 300)
        #expect(browser.lines[79].hasPrefix("Enter detail  / search"))
        // The columns align for every script.
        for line in browser.lines[1..<79] {
            let parts = line.split(separator: "│", omittingEmptySubsequences: false)
            #expect(parts.count == 2 && TerminalText.width(String(parts[0])) == 121, "\(line)")
        }
        for mail in ["ada@", "adachi@", "adam@", "nunez@", "byron@", "kim@", "evil@", "long@"] {
            let line = browser.lines[2...10].first { $0.contains(" \(mail)") } ?? ""
            #expect(line.columns(before: " \(mail)") == 32, "\(line)")
        }
    }

    @Test(arguments: [(0, 0), (1, 1), (19, 24), (80, 4), (20, 4), (19, 1)])
    func `a screen that is too small shows a message`(columns: Int, rows: Int) {
        let browser = Self.browser(columns, rows)
        let screen = browser.model.screen()
        #expect(screen.rows.count <= rows)
        #expect(screen.rows.allSatisfy { TerminalText.width($0.map(\.text).joined()) <= columns })
        if columns >= 19, rows > 1 { #expect(browser.shows("Too small")) }
    }

    @Test func `all panes work on the smallest screen`() {
        var browser = Self.browser(20, 5)
        #expect(!browser.shows("Too small"))
        #expect(browser.shows("> Ada Lovelace"))
        browser.press(.enter)
        #expect(browser.shows("Mail"))
    }

    @Test func `a resize keeps the cursor visible`() {
        var browser = DrivenModel(columns: 300, rows: 80)
        browser.list(User.many(200))
        for _ in 0..<150 { browser.press(.down) }
        for size in [(40, 10), (300, 80), (80, 24), (20, 5), (120, 40)] {
            browser.send(.resized(ScreenSize(columns: size.0, rows: size.1)))
            #expect(browser.shows("> Person 150"))
        }
    }

    @Test func `a long text scrolls in the query line`() {
        var browser = DrivenModel(columns: 40, rows: 10)
        browser.type(String(repeating: "安達", count: 30))
        let screen = browser.model.screen()
        #expect(TerminalText.width(browser.lines[0]) <= 40)
        #expect(screen.cursor?.row == 0)
        #expect((7..<40).contains(screen.cursor?.column ?? -1))
        browser.press(.home)
        #expect(browser.model.screen().cursor?.column == 7)
    }

    @Test func `lines wrap at spaces and never inside a grapheme cluster`() {
        #expect(TerminalText.wrapped("one two three", to: 8) == ["one two", "three"])
        #expect(TerminalText.wrapped("安達太郎", to: 5) == ["安達", "太郎"])
        #expect(TerminalText.wrapped("abcdefghij", to: 4) == ["abcd", "efgh", "ij"])
        #expect(TerminalText.wrapped("a b c d e f", to: 3, limit: 2) == ["a b", "c …"])
        #expect(TerminalText.wrapped("", to: 3) == [""])
        #expect(TerminalText.wrapped("👩\u{200D}💻👩\u{200D}💻", to: 2) == ["👩\u{200D}💻", "👩\u{200D}💻"])
    }

    @Test func `drawing time does not depend on rows out of view`() {
        func fastest(_ count: Int) -> Duration {
            var browser = DrivenModel(columns: 300, rows: 80)
            browser.list(User.many(count))
            return (0..<100).map { location in
                ContinuousClock().measure {
                    browser.press(location % 50 < 25 ? .down : .up)
                    _ = browser.model.screen()
                }
            }.min() ?? .zero
        }
        #expect(fastest(10_000) < fastest(100) * 5)
    }
}

extension String {
    /// Returns the width of the columns before `text`, or `nil` if the line does not contain it.
    fileprivate func columns(before text: String) -> Int? {
        firstRange(of: text).map { TerminalText.width(String(self[..<$0.lowerBound])) }
    }
}
