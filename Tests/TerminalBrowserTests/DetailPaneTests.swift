import DirectorySearch
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite struct DetailPaneTests {
    @Test func `the browser requests the detail 150 ms after the cursor rests`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam, .adele])
        browser.press(.down)
        browser.wait(.milliseconds(149))
        browser.press(.down)
        browser.wait(.milliseconds(149))
        #expect(browser.effects.isEmpty)
        #expect(browser.shows("adele@contoso.com"), "the pane shows the data of the list immediately")
        browser.wait(.milliseconds(1))
        #expect(browser.effects == [.detail(2, "adele")])
    }

    @Test func `letters are shown as keys only where they are not text`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail { $0.manager = .value(.adele) }
        #expect(browser.shows("Adele Vance  m") && browser.shows("r shows them") && browser.shows("q quit"))
        browser.press(.character("/"))
        #expect(browser.shows("Adele Vance") && !browser.shows("Adele Vance  m") && !browser.shows("r shows them"))
        #expect(browser.shows("Tab, then r") && browser.shows("ctrl-c end") && !browser.shows("q quit"))
        browser.press(.tab, .character("m"))
        #expect(browser.selected == "Adele Vance")
    }

    @Test func `the browser caches details and cancels requests for users that are no longer selected`() {
        var browser = DrivenModel()
        browser.list([.ada, .adam])
        browser.answerDetail { $0.user.officeLocation = "Room 7" }
        #expect(browser.shows("Room 7"))
        browser.press(.down)
        browser.wait(.milliseconds(150))
        browser.forget()
        browser.press(.up)
        #expect(browser.effects == [.cancel(3)])
        #expect(browser.shows("Room 7"))
        browser.wait(.seconds(1))
        #expect(browser.effects == [.cancel(3)])
        browser.send(.detail(3, UserDetail(user: .adam)))
        #expect(browser.model.details["adam"] == nil)
    }

    @Test func `RecentDetails keeps the 200 most recently used details`() {
        var details = RecentDetails()
        for number in 0..<200 { details.save(UserDetail(user: .ada), for: "\(number)", isWhole: true) }
        details.touch("0")
        for number in 200..<300 { details.save(UserDetail(user: .ada), for: "\(number)", isWhole: true) }
        #expect(details.count == 200)
        #expect(details["0"] != nil)
        #expect(details["1"] == nil)
    }

    @Test func `the browser requests no detail during a search`() {
        var browser = DrivenModel()
        browser.type("ad")
        browser.wait(.milliseconds(150))
        browser.result([.ada])
        browser.wait(.milliseconds(100))
        browser.forget()
        browser.type("a")
        browser.wait(.milliseconds(150))
        browser.wait(.seconds(3))
        #expect(browser.effects == [.search(2, "ada")])
        browser.result([.ada])
        browser.wait(.milliseconds(150))
        #expect(browser.effects == [.search(2, "ada"), .detail(3, "ada")])
    }

    @Test func `the detail shows which parts are missing, not permitted or failed`() {
        var browser = DrivenModel(columns: 120, rows: 30)
        browser.list([.ada])
        browser.answerDetail {
            $0.manager = .notPermitted(DirectoryError(.notPermitted(permissions: ["User.Read.All"])))
            $0.photo = .none
            $0.groups = .failed(DirectoryError(.unavailable, status: 503))
        }
        #expect(browser.shows("Manager     not permitted without User.Read.All  a"))
        #expect(browser.shows("Photo       none"))
        #expect(browser.shows("Groups      the directory is not available (status 503)  R"))
    }

    @Test func `the detail shows an error with the key to retry`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.wait(.milliseconds(150))
        browser.send(.failed(2, BrowseFailure(summary: "the network is unreachable", isNetwork: true)))
        #expect(browser.shows("The network is unreachable. R tries again."))
        browser.forget()
        browser.wait(.seconds(5))
        #expect(browser.effects.isEmpty)
        browser.press(.character("R"))
        #expect(browser.effects == [.detail(3, "ada")])
        browser.answerDetail()
        #expect(!browser.shows("is unreachable"))
    }

    @Test func `the browser repeats a throttled detail request after the delay`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.wait(.milliseconds(150))
        browser.send(.failed(2, BrowseFailure(summary: "x", retryAfter: .seconds(2))))
        browser.forget()
        browser.wait(.milliseconds(1999))
        #expect(browser.effects.isEmpty)
        browser.wait(.milliseconds(1))
        #expect(browser.effects == [.detail(3, "ada")])
    }

    @Test func `Enter opens the detail immediately, keys scroll it, and Esc goes back`() {
        var browser = DrivenModel(columns: 40, rows: 10)
        browser.list([.ada])
        browser.press(.enter)
        #expect(browser.effects == [.detail(2, "ada")])
        #expect(browser.model.focus == .detail)
        let before = browser.text
        browser.press(.character("j"))
        #expect(browser.text != before)
        browser.press(.character("k"))
        #expect(browser.text == before)
        browser.press(.character("G"), .character("G"), .character("j"))
        #expect(browser.shows("Id          ada"))
        browser.press(.character("g"))
        #expect(browser.text == before)
        browser.press(.escape)
        #expect(browser.model.focus == .list)
        browser.press(.escape)
        #expect(browser.model.focus == .query)
    }

    @Test func `Tab moves through the panes in both directions`() {
        var browser = DrivenModel()
        browser.list([.ada])
        #expect(browser.model.focus == .list)
        for pane in [BrowseModel.Pane.detail, .query, .list] {
            browser.press(.tab)
            #expect(browser.model.focus == pane)
        }
        for pane in [BrowseModel.Pane.query, .detail, .list] {
            browser.press(.backTab)
            #expect(browser.model.focus == pane)
        }
    }

    @Test func `M shows the groups in the detail and requests them once`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail()
        browser.forget()
        browser.press(.character("M"))
        #expect(browser.effects == [.groups(3, "ada")])
        #expect(browser.shows("Asking for the groups…"))
        var result = UserDetail(user: User())
        result.groups = .value([
            DirectoryObject(json: ["id": "g1", "displayName": "All \u{1B}[31mStaff"]),
            DirectoryObject(
                json: ["id": "g2", "displayName": "Admins", "@odata.type": "#microsoft.graph.directoryRole"]),
        ])
        browser.send(.detail(3, result))
        #expect(browser.shows("Groups of Ada Lovelace"))
        #expect(browser.shows(#"All \u{1B}[31mStaff"#))
        #expect(browser.shows("Admins  directoryRole"))
        browser.press(.character("M"))
        #expect(browser.shows("Groups      2 groups  M"))
        #expect(browser.shows("ada@contoso.com"))
        browser.press(.character("M"))
        #expect(browser.shows("Admins"))
        #expect(browser.effects == [.groups(3, "ada")])
    }

    @Test func `the detail reports groups that are not permitted`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail()
        browser.press(.character("M"))
        var result = UserDetail(user: User())
        result.groups = .notPermitted(DirectoryError(.notPermitted(permissions: ["GroupMember.Read.All"])))
        browser.send(.detail(3, result))
        #expect(browser.shows("Groups: not permitted without GroupMember.Read.All. a signs in."))
    }

    // MARK: Photos

    private static let photo = ProfilePhoto(json: ["width": 48, "height": 48])

    @Test func `p loads a photo and shows it at the right of the detail`() throws {
        var browser = DrivenModel(columns: 120, rows: 30)
        browser.list([.ada])
        browser.answerDetail {
            $0.user.jobTitle = String(repeating: "Engineer of 機械 ", count: 8)
            $0.photo = .value(Self.photo)
        }
        #expect(browser.shows("Photo       48×48  p"))
        browser.forget()
        browser.press(.character("p"))
        #expect(browser.effects == [.photo(3, "ada")])
        #expect(browser.model.screen().picture == nil)
        browser.send(.photo(3, UserPhoto(bytes: Data([1, 2, 3]), mediaType: "image/jpeg")))
        let picture = try #require(browser.model.screen().picture)
        #expect(picture.bytes == Data([1, 2, 3]))
        #expect(picture.area.column + picture.area.columns == 120)
        for row in browser.lines[picture.area.row..<(picture.area.row + picture.area.rows)] {
            #expect(TerminalText.width(row) <= picture.area.column, "text does not overlap the photo")
        }
        browser.press(.character("p"))
        #expect(browser.model.screen().picture == nil)
        browser.press(.character("p"))
        #expect(browser.model.screen().picture != nil)
        #expect(browser.effects == [.photo(3, "ada")])
    }

    @Test func `a terminal that supports images loads existing photos automatically`() {
        var browser = DrivenModel(showsPictures: true)
        browser.list([.ada, .adam])
        browser.answerDetail { $0.photo = .value(Self.photo) }
        #expect(browser.effects == [.detail(2, "ada"), .photo(3, "ada")])
        browser.forget()
        browser.press(.down)
        browser.answerDetail { $0.photo = .none }
        #expect(browser.effects == [.cancel(3), .detail(4, "adam")])
    }

    @Test func `p reports a user without a photo`() {
        var browser = DrivenModel()
        browser.list([.ada])
        browser.answerDetail { $0.photo = .none }
        browser.press(.character("p"))
        #expect(browser.shows("Ada Lovelace has no photo."))
    }

    @Test func `RecentPhotos limits the number and size of photos`() {
        var photos = RecentPhotos()
        for number in 0..<30 { photos.save(UserPhoto(bytes: Data(count: 100)), for: "\(number)") }
        #expect(photos["9"] == nil)
        #expect(photos["10"] != nil)
        photos.save(UserPhoto(bytes: Data(count: RecentPhotos.maximumBytes + 1)), for: "large")
        #expect(photos["29"] == nil)
        #expect(photos["large"] != nil)
    }

    @Test func `with --offline p reports that photos are not stored, and unavailable keys are hidden`() {
        for pane in [BrowseModel.Pane.list, .detail] {
            var browser = DrivenModel(columns: 200, isOffline: true)
            browser.type("ad")
            browser.wait(.milliseconds(150))
            browser.result([.ada], source: .offline)
            browser.press(.down)
            browser.answerDetail()
            while browser.model.focus != pane { browser.press(.tab) }
            let keys = browser.lines.last ?? ""
            #expect(keys.contains("c copy mail") && keys.contains("y copy menu") && keys.contains("? help"))
            for key in ["m manager", "r reports", "M groups", "p photo"] { #expect(!keys.contains(key)) }
            browser.press(.character("p"))
            #expect(browser.shows("Photos are not kept offline."))
        }
    }
}
