import DirectorySearch
import Testing

@testable import TerminalBrowser

@Suite struct ListPaneTests {
    @Test func `the cursor follows the user, not the row`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam, .adele])
        browser.press(.down)
        #expect(browser.selected == "Adam Smith")
        browser.press(.character("/"))
        browser.type("a")
        browser.wait(.milliseconds(150))
        browser.result([.adele, .ada, .grace, .adam])
        #expect(browser.selected == "Adam Smith")
        #expect(browser.lines.contains { $0.hasPrefix("> Adam Smith") })
    }

    @Test func `the cursor moves to the first row if the user is not in the new results`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam, .adele])
        browser.press(.character("G"), .character("/"))
        browser.type("g")
        browser.wait(.milliseconds(150))
        browser.result([.grace, .ada])
        #expect(browser.selected == "Grace Hopper")
    }

    @Test func `keys move the cursor and keep it visible`() {
        var browser = DrivenModel(rows: 24)
        browser.list(User.many(100))
        let page = browser.model.layout.listRows - 1
        func check(_ number: Int, _ keys: Key..., at line: SourceLocation = #_sourceLocation) {
            for key in keys { browser.send(.key(key)) }
            #expect(browser.selected == "Person \(number)", sourceLocation: line)
            #expect(browser.lines.contains { $0.hasPrefix("> Person \(number) ") }, sourceLocation: line)
        }
        check(1, .down)
        check(2, .character("j"))
        check(1, .character("k"))
        check(0, .up)
        check(page, .pageDown)
        check(0, .pageUp)
        check(99, .character("G"))
        check(99, .down)
        check(0, .character("g"))
        check(99, .end)
        check(0, .home)
        #expect(browser.shows("1 of 100"))
    }

    @Test func `the browser requests the next page once, near the end`() {
        var browser = DrivenModel()
        browser.list(User.many(100), hasMore: true)
        #expect(browser.shows("1 of 100+"))
        for _ in 0..<80 { browser.press(.down) }
        #expect(browser.effects.filter { $0 == .nextPage(1) }.isEmpty)
        for _ in 0..<19 { browser.press(.down) }
        #expect(browser.effects.filter { $0 == .nextPage(1) }.count == 1)
        let page = BrowsePage(
            users: User.many(100, from: 100), hasMore: false, source: .directory, isContinuation: true)
        browser.send(.users(1, page))
        #expect(browser.shows("100 of 200"))
        #expect(browser.selected == "Person 99")
        browser.press(.character("G"))
        #expect(browser.effects.filter { $0 == .nextPage(1) }.count == 1)
    }

    @Test func `the browser reports a failed page, and R retries it`() {
        var browser = DrivenModel()
        browser.list(User.many(100), hasMore: true)
        browser.press(.character("G"))
        browser.send(.failed(1, BrowseFailure(summary: "the network is unreachable", isNetwork: true)))
        #expect(browser.shows("Could not load more users: The network is unreachable."))
        browser.forget()
        browser.press(.up)
        #expect(!browser.effects.contains(.nextPage(1)))
        browser.press(.character("R"))
        #expect(browser.effects.contains(.nextPage(1)))
    }

    @Test func `a throttled page is requested again after the delay`() {
        var browser = DrivenModel()
        browser.list(User.many(100), hasMore: true)
        browser.press(.character("G"))
        browser.forget()
        browser.send(.failed(1, BrowseFailure(summary: "x", retryAfter: .seconds(3))))
        browser.wait(.milliseconds(2900))
        #expect(!browser.effects.contains(.nextPage(1)))
        browser.wait(.milliseconds(100))
        #expect(browser.effects.contains(.nextPage(1)))
    }

    @Test func `the list is limited to a maximum number of rows`() {
        var browser = DrivenModel()
        browser.list(User.many(ResultList.maximumRows + 5), hasMore: true)
        browser.press(.character("G"))
        #expect(browser.model.list.rows.count == ResultList.maximumRows)
        #expect(!browser.effects.contains(.nextPage(1)))
    }

    @Test func `a page that arrives while another list is shown is added to its own list`() {
        var browser = DrivenModel()
        browser.list(User.many(100), hasMore: true)
        browser.press(.character("G"))
        #expect(browser.effects.contains(.nextPage(1)))
        browser.press(.character("r"))
        var result = UserDetail(user: .ada)
        result.reports = .value([DirectoryObject(json: User.grace.json)])
        browser.send(.detail(browser.lastNumber, result))
        #expect(browser.names == ["Grace Hopper"])
        let page = BrowsePage(
            users: User.many(100, from: 100), hasMore: false, source: .directory, isContinuation: true)
        browser.send(.users(1, page))
        #expect(browser.names == ["Grace Hopper"])
        browser.press(.character("["))
        #expect(browser.names.count == 200)
    }

    @Test func `matches are highlighted regardless of case and accents`() {
        let needles = MatchHighlighter("zoe li")
        let pieces = needles.parted("Zoë O'Lía Eli LIN")
        #expect(pieces.filter { $0.style == .match }.map(\.text) == ["Zoë", "Lí", "LI"])
        #expect(pieces.map(\.text).joined() == "Zoë O'Lía Eli LIN")
    }

    @Test func `marks persist across searches, and the export keeps their order`() {
        var browser = DrivenModel()
        browser.press(.control("s"))
        #expect(browser.shows("No user is marked: space in the list marks a user."))
        browser.list([.ada, .adam, .adele])
        browser.press(.character(" "), .down, .character(" "), .down, .character(" "), .character(" "))
        #expect(browser.shows("2 marked"))
        #expect(browser.lines.contains { $0.hasPrefix(" *Ada Lovelace") })
        browser.press(.character("/"), .control("u"))
        browser.list([.grace], for: "gr")
        browser.press(.character(" "), .control("s"))
        #expect(browser.shows("Export to users.vcf") && browser.effects.isEmpty)
        browser.press(.enter)
        #expect(browser.effects.contains(.export(["ada", "adam", "grace"], "users.vcf", .vCard)))
        browser.send(.exportFailed("cannot write users.vcf: the file exists"))
        #expect(
            browser.shows("cannot write users.vcf: the file exists.")
                && browser.shows("Export to users.vcf"))
        browser.press(.control("u"))
        browser.type("team.CSV")
        browser.press(.enter)
        #expect(browser.effects.last == .export(["ada", "adam", "grace"], "team.CSV", .csv))
        browser.send(.exported(count: 3, file: "team.CSV"))
        #expect(browser.shows("Wrote 3 users to team.CSV.") && !browser.shows("Export to"))
    }

    @Test(arguments: [
        ("a.vcf", BrowseExportFormat.vCard), ("a.b/c.csv", .csv), ("~/x.JSON", .json), ("a.txt", nil), ("csv", nil),
        ("", nil),
        (".csv", nil), ("a.csv/", nil), ("a.csv/b", nil),
    ])
    func `the file extension selects the export format`(_ file: String, _ format: BrowseExportFormat?) {
        #expect(BrowseExportFormat(file: file) == format)
        var browser = DrivenModel()
        browser.list([.ada])
        browser.press(.character(" "), .control("s"), .control("u"), .paste(file), .enter)
        #expect(browser.effects == (format.map { [.export(["ada"], file, $0)] } ?? []))
        #expect(browser.shows("must end with .vcf, .csv or .json.") == (format == nil))
        browser.press(.escape)
        #expect(!browser.shows("Export to"))
    }

    @Test func `the cursor is in the file prompt at any width`() {
        for columns in [20, 40, 80, 300] {
            var browser = DrivenModel(columns: columns, rows: 10)
            browser.list([.ada])
            browser.press(.character(" "), .control("s"))
            let screen = browser.model.screen()
            #expect(screen.cursor?.row == 8 && (screen.cursor?.column ?? columns) < columns)
            #expect(screen.rows[8].map(\.text).joined().hasPrefix("Export to "))
        }
    }

    @Test func `the browser lists users without identifiers but requests no detail for them`() {
        var browser = DrivenModel()
        var nobody = User()
        browser.list([nobody, nobody])
        browser.press(.down, .character("m"), .character(" "), .character("c"), .character("M"), .character("p"))
        browser.wait(.seconds(1))
        #expect(browser.effects.isEmpty)
        nobody.displayName = "Somebody"
        browser.press(.character("y"))
        #expect(browser.shows("nothing to copy"))
    }
}
