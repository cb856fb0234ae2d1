import DirectorySearch
import StrictJSON
import Testing

@testable import TerminalBrowser

/// A model with a test clock.
struct DrivenModel {
    var model: BrowseModel
    var now: Duration = .zero
    /// The effects since the last ``forget()``, without ticks.
    var effects: [Effect] = []
    private(set) var wake: Duration?
    /// The account type of the last sign-in to another account.
    private(set) var signInType: String?
    /// The last lookup in the offline copy.
    private(set) var localPreview: (number: Int, text: String)?

    /// An effect that tests can compare.
    enum Effect: Hashable {
        case search(Int, String)
        case cancelSearch
        case nextPage(Int)
        case detail(Int, String)
        case reports(Int, String)
        case groups(Int, String)
        case photo(Int, String)
        case cancel(Int)
        case use(String)
        case signIn(Int, String?)
        case copy(String)
        case export([String], String, BrowseExportFormat)
        case choose([String])
        case redraw, suspend, quit
    }

    init(
        _ text: String = "", columns: Int = 80, rows: Int = 24, accounts: [BrowseAccount]? = [.ada],
        types: [String] = [], showsPictures: Bool = false, isOffline: Bool = false, picker: BrowsePicker? = nil
    ) {
        model = BrowseModel(
            text: text, types: types, showsPictures: showsPictures, isOffline: isOffline,
            incompleteNote: "Not complete: lodge sync continues.", picker: picker)
        send(.resized(ScreenSize(columns: columns, rows: rows)))
        if let accounts { send(.accounts(accounts, current: accounts.first?.id)) }
    }

    mutating func send(_ event: BrowseEvent) {
        for effect in model.handle(event, at: now) {
            switch effect {
            case .wake(let time): wake = time
            case .search(let number, let text): effects.append(.search(number, text))
            case .localPreview(let number, let text): localPreview = (number, text)
            case .cancelSearch: effects.append(.cancelSearch)
            case .nextPage(let number): effects.append(.nextPage(number))
            case .detail(let number, let id): effects.append(.detail(number, id))
            case .reports(let number, let id): effects.append(.reports(number, id))
            case .groups(let number, let id): effects.append(.groups(number, id))
            case .photo(let number, let id): effects.append(.photo(number, id))
            case .cancel(let number): effects.append(.cancel(number))
            case .use(let id): effects.append(.use(id))
            case .signIn(let number, let whom):
                switch whom {
                case .account(let id): effects.append(.signIn(number, id))
                case .another(let type):
                    effects.append(.signIn(number, nil))
                    signInType = type
                }
            case .copy(let text): effects.append(.copy(text))
            case .export(let users, let file, let format):
                effects.append(.export(users.map { $0.id ?? "" }, file, format))
            case .choose(let users): effects.append(.choose(users.map { $0.id ?? "" }))
            case .redraw: effects.append(.redraw)
            case .suspend: effects.append(.suspend)
            case .quit: effects.append(.quit)
            }
        }
    }

    mutating func press(_ keys: Key...) { for key in keys { send(.key(key)) } }

    /// Presses the keys of a string without delays between them.
    mutating func type(_ text: String) { for character in text { send(.key(.character(character))) } }

    /// Advances the clock and sends the ticks that are due.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        while let time = wake, time <= end {
            wake = nil
            now = max(now, time)
            send(.tick)
        }
        now = end
    }

    mutating func forget() { effects = [] }

    /// The number of the last search.
    var searchNumber: Int {
        for case .search(let number, _) in effects.reversed() { return number }
        return model.search.live ?? -1
    }

    /// The number of the last request of any type.
    var lastNumber: Int { model.lastNumber }

    /// Returns these users as the result of the last search.
    mutating func result(_ users: [User], hasMore: Bool = false, source: BrowseSource = .directory) {
        let page = BrowsePage(users: users, hasMore: hasMore, source: source, isContinuation: false)
        send(.users(searchNumber, page))
    }

    /// Searches for `text` with these users as the result, and moves the focus to the list.
    mutating func list(_ users: [User], for text: String = "ad", hasMore: Bool = false) {
        type(text)
        wait(.milliseconds(150))
        result(users, hasMore: hasMore)
        press(.tab)
        forget()
    }

    /// Returns the detail of the selected user.
    mutating func answerDetail(_ change: (inout UserDetail) -> Void = { _ in }) {
        wait(.milliseconds(150))
        guard let row = model.list.selection else { return }
        var detail = UserDetail(user: row.user)
        change(&detail)
        send(.detail(model.detail.running?.number ?? -1, detail))
    }

    var text: String { model.screen().text }
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
    /// The name of the selected user.
    var selected: String? { model.list.selection?.user.displayName }
    var names: [String] { model.list.rows.compactMap(\.user.displayName) }

    func shows(_ text: String) -> Bool { self.text.contains(text) }
    /// Returns the style of the first screen segment that contains `text`.
    func style(_ text: String) -> ScreenStyle? {
        model.screen().rows.joined().first { $0.text.contains(text) }?.style
    }
}

extension BrowseAccount {
    static let ada = BrowseAccount(
        id: "a1", label: "ada@contoso.com", type: "graph", needsSignIn: false)
    static let eve = BrowseAccount(
        id: "a2", label: "eve@fabrikam.com", type: "other", needsSignIn: false)
}

extension User {
    /// Creates a user with an identifier and a name, and by default a mail address with the identifier.
    static func person(
        _ id: String, _ name: String, title: String? = nil, mail: String? = "", phone: String? = nil
    ) -> User {
        var user = User()
        user.id = id
        user.displayName = name
        user.jobTitle = title
        user.mail = mail.map { $0.isEmpty ? "\(id)@contoso.com" : $0 }
        if let phone { user.businessPhones = [phone] }
        return user
    }

    static let ada = person("ada", "Ada Lovelace", title: "Engineer", phone: "+1 425 555 0100")
    static let adam = person("adam", "Adam Smith", title: "Economist")
    static let adele = person("adele", "Adele Vance", title: "Retail Manager")
    static let grace = person("grace", "Grace Hopper", title: "Admiral")

    static func many(_ count: Int, from first: Int = 0) -> [User] {
        (first..<(first + count)).map { person("p\($0)", "Person \($0)", title: "Clerk") }
    }
}

/// Compares the whole screen, without trailing spaces.
func compare(_ browser: DrivenModel, _ expected: String, at location: SourceLocation = #_sourceLocation) {
    let text = browser.text
    if text != expected {
        Issue.record("The screen is:\n\(text)\nSCREEN END", sourceLocation: location)
    }
}
