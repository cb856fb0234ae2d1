import DirectorySearch
import Testing

@testable import directory

@Suite struct ScreenTests {
    /// Names of many scripts, and some that are not meant well.
    static let people: [User] = [
        .ada,
        .person("adachi", "安達 太郎", title: "営業部長", phone: "+81 3 5555 0142"),
        .person("adam", "آدم الحسن", title: "مهندس"),
        .person("nunez", "Ada\u{301}n Nu\u{303}ez", title: "Disen\u{303}ador"),
        .person("byron", "👩\u{200D}💻 Ada Byron 🇬🇧", title: "Poet ❤\u{FE0F}"),
        .person("kim", "김 아담", title: "개발자"),
        .person("evil", "Ada \u{202E}nimdA\u{1B}[2J", title: "Line\nbreak"),
        .person("long", "Adelheid Maria Theresia von und zu Hohenstein-Wartenburg", title: "Head of Everything"),
        .person("nomail", "Adela Quinn", mail: nil),
    ]

    private func browser(_ columns: Int, _ rows: Int) -> DrivenModel {
        var browser = DrivenModel(columns: columns, rows: rows)
        browser.list(Self.people, hasMore: true)
        browser.answerDetail {
            $0.user.department = "Analytical Engines"
            $0.user.userPrincipalName = "ada@contoso.onmicrosoft.com"
            $0.manager = .value(.grace)
            $0.photo = .none
        }
        return browser
    }

    private func compare(_ browser: DrivenModel, _ expected: String, at place: SourceLocation = #_sourceLocation) {
        let text = browser.text
        if text != expected {
            Issue.record("The screen is:\n\(text)\nSCREEN END", sourceLocation: place)
        }
    }

    @Test func `40 by 10`() {
        compare(browser(40, 10), "")
    }

    @Test func `80 by 24`() {
        compare(browser(80, 24), "")
    }

    @Test func `120 by 40`() {
        compare(browser(120, 40), "")
    }

    @Test func `120 by 30 for the README`() {
        compare(browser(120, 30), "")
    }

    @Test func `300 by 80`() {
        let lines = browser(300, 80).text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count == 80)
        Issue.record("The screen is:\n\(lines.prefix(14).joined(separator: "\n"))\nSCREEN END")
    }

    @Test func `signing in, nobody found, menus`() {
        compare(DrivenModel(accounts: []), "")
        var nobody = DrivenModel()
        nobody.type("xq")
        nobody.wait(.milliseconds(150))
        nobody.answer([])
        compare(nobody, "")
        var menu = browser(120, 16)
        menu.press(.character("y"))
        compare(menu, "")
        var accounts = browser(80, 24)
        accounts.press(.character("a"))
        compare(accounts, "")
        var help = browser(80, 24)
        help.press(.character("?"))
        compare(help, "")
    }

    @Test(arguments: [(0, 0), (1, 1), (19, 24), (80, 4), (20, 4), (19, 1)])
    func `a screen that is too small says so`(columns: Int, rows: Int) {
        let browser = browser(columns, rows)
        let screen = browser.model.screen()
        #expect(screen.rows.count <= rows)
        #expect(screen.rows.allSatisfy { DisplayText.width($0.map(\.text).joined()) <= columns })
        if columns >= 19, rows > 1 { #expect(browser.shows("Too small")) }
    }

    @Test func `everything works on the smallest screen`() {
        var browser = browser(20, 5)
        #expect(!browser.shows("Too small"))
        #expect(browser.shows("> Ada Lovelace"))
        browser.press(.enter)
        #expect(browser.shows("Mail"))
    }

    @Test func `a resize keeps the cursor in view`() {
        var browser = DrivenModel(columns: 300, rows: 80)
        browser.list(User.many(200))
        for _ in 0..<150 { browser.press(.down) }
        for size in [(40, 10), (300, 80), (80, 24), (20, 5), (120, 40)] {
            browser.send(.resized(ScreenSize(columns: size.0, rows: size.1)))
            #expect(browser.shows("> Person 150"))
        }
    }

    @Test func `a long text scrolls under the cursor in the query line`() {
        var browser = DrivenModel(columns: 40, rows: 10)
        browser.type(String(repeating: "安達", count: 30))
        let screen = browser.model.screen()
        #expect(DisplayText.width(browser.lines[0]) <= 40)
        #expect(screen.cursor?.row == 0)
        #expect((7..<40).contains(screen.cursor?.column ?? -1))
        browser.press(.home)
        #expect(browser.model.screen().cursor?.column == 7)
    }

    @Test func `lines are parted at spaces and never within a letter`() {
        #expect(DisplayText.wrapped("one two three", to: 8) == ["one two", "three"])
        #expect(DisplayText.wrapped("安達太郎", to: 5) == ["安達", "太郎"])
        #expect(DisplayText.wrapped("abcdefghij", to: 4) == ["abcd", "efgh", "ij"])
        #expect(DisplayText.wrapped("a b c d e f", to: 3, limit: 2) == ["a b", "c …"])
        #expect(DisplayText.wrapped("", to: 3) == [""])
        #expect(DisplayText.wrapped("👩\u{200D}💻👩\u{200D}💻", to: 2) == ["👩\u{200D}💻", "👩\u{200D}💻"])
    }

    @Test func `people out of view cost nothing`() {
        var few = DrivenModel(columns: 300, rows: 80)
        few.list(User.many(100))
        var many = DrivenModel(columns: 300, rows: 80)
        many.list(User.many(10_000))
        func times(_ browser: inout DrivenModel) -> [Duration] {
            (0..<300).map { place in
                ContinuousClock().measure {
                    browser.press(place % 150 < 75 ? .down : .up)
                    _ = browser.model.screen()
                }
            }.sorted()
        }
        let (fewTimes, manyTimes) = (times(&few), times(&many))
        print(
            "key to screen: 100 people \(fewTimes[150]) \(fewTimes[296]), 10,000 people \(manyTimes[150]) \(manyTimes[296])"
        )
        #expect(manyTimes[150] < fewTimes[150] * 3)
    }
}
