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

/// A SplitMix64 generator with a seed, so that a failure is reproducible.
private struct SeededNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[below(elements.count)] }
}

@Suite struct RandomKeyTests {
    private static let keys: [Key] =
        [
            .up, .down, .left, .right, .pageUp, .pageDown, .home, .end, .tab, .backTab, .enter, .escape, .backspace,
            .delete, .paste("李 \u{202E}x\n\u{1B}[2J"), .paste(""), .character("\u{301}"), .character("🇩🇪"),
            .character("ق"),
        ] + "jkgG/mrM[]acypRL? 123sqx+adeo".map { .character($0) } + "acelzrsuwkdhnpbf".map { .control($0) }

    private static let users = ScreenTests.users + User.many(30)

    private static func failure(_ numbers: inout SeededNumbers) -> BrowseFailure {
        BrowseFailure(
            summary: "something \u{1B}[31m failed " + String(repeating: "long ", count: numbers.below(60)),
            reason: numbers.pick([nil, "because"]), hint: numbers.pick([nil, "do it"]),
            retryAfter: numbers.pick([nil, nil, .seconds(2), .zero]), needsSignIn: numbers.below(4) == 0,
            isNetwork: numbers.below(2) == 0)
    }

    private static func event(_ numbers: inout SeededNumbers, _ model: BrowseModel) -> BrowseEvent {
        let number = max(0, model.lastNumber - numbers.below(3))
        switch numbers.below(40) {
        case 0:
            return .resized(
                ScreenSize(
                    columns: numbers.pick([0, 1, 19, 20, 40, 80, 99, 100, 120, 300]),
                    rows: numbers.pick([0, 1, 4, 5, 6, 7, 8, 10, 24, 80])))
        case 1, 2: return .tick
        case 3:
            let accounts = numbers.pick([[], [.ada], [.ada, .eve], [BrowseAccount.eve]])
            return .accounts(accounts, current: numbers.below(5) == 0 ? nil : accounts.last?.id)
        case 4...9:
            let users = Array(users.shuffled(using: &numbers).prefix(numbers.below(users.count + 1)))
            return .users(
                numbers.below(4) == 0 ? number : model.search.live ?? 0,
                BrowsePage(
                    users: users, hasMore: numbers.below(2) == 0, source: numbers.pick([.offline, .directory]),
                    isContinuation: numbers.below(3) == 0))
        case 10...13:
            var detail = UserDetail(user: numbers.pick(users))
            detail.manager = numbers.pick([
                .notRequested, .none, .value(numbers.pick(users)), .failed(DirectoryError(.unavailable)),
                .notPermitted(DirectoryError(.notPermitted(permissions: ["User.Read.All"]))),
            ])
            let objects = users.prefix(numbers.below(40)).map { DirectoryObject(json: $0.json) }
            detail.reports = numbers.pick([.notRequested, .none, .value(objects), .failed(DirectoryError(.throttled))])
            detail.groups = numbers.pick([.notRequested, .none, .value(objects), .failed(DirectoryError(.throttled))])
            detail.photo = numbers.pick([
                .notRequested, .none, .value(ProfilePhoto(json: ["width": 48, "height": 48])),
            ])
            return .detail(number, detail)
        case 14: return .photo(number, numbers.pick([nil, UserPhoto(bytes: Data([1, 2]))]))
        case 15, 16: return .failed(number, failure(&numbers))
        case 17:
            return .signIn(
                number,
                numbers.pick([
                    .browser(address: "https://x.example/" + String(repeating: "a", count: 700)),
                    .code("AB\u{202E}CD", address: "https://x.example"), .done(label: "é"),
                    .failed(failure(&numbers)),
                ]))
        case 18: return .logged("GET /v1.0/users?$filter=\u{1B} 200 12 ms")
        case 19:
            return numbers.pick([.copied("a\nb", by: "x"), .copyFailed("y"), .exported(count: 1, file: "z"), .resumed])
        default: return .key(numbers.pick(keys))
        }
    }

    @Test(arguments: 1...20) func `random events keep the screen valid`(seed: UInt64) throws {
        var numbers = SeededNumbers(state: seed)
        var model = BrowseModel(text: seed % 2 == 0 ? "ad" : "", showsPictures: seed % 3 == 0, isOffline: seed % 5 == 0)
        var now = Duration.zero
        for step in 0..<500 {
            now += .milliseconds(numbers.below(200))
            for effect in model.handle(Self.event(&numbers, model), at: now) {
                if case .search(_, let text) = effect { #expect(text.count >= 2) }
                if case .wake(let time) = effect { #expect(time > .zero) }
            }
            let screen = model.screen()
            let size = model.size
            try #require(screen.rows.count <= max(0, size.rows), "step \(step)")
            for row in screen.rows {
                let text = row.map(\.text).joined()
                try #require(TerminalText.width(text) <= size.columns, "step \(step): \(text)")
                try #require(text.visible == text, "step \(step): \(text)")
            }
            if let cursor = screen.cursor {
                let isInside = (0..<size.columns).contains(cursor.column) && (0..<size.rows).contains(cursor.row)
                try #require(isInside, "step \(step)")
            }
            if let area = screen.picture?.area {
                try #require(area.column >= 0 && area.column + area.columns <= size.columns, "step \(step)")
                try #require(area.row >= 0 && area.row + area.rows < size.rows, "step \(step)")
            }
            let list = model.list
            try #require(list.rows.isEmpty ? list.selected == 0 : list.rows.indices.contains(list.selected))
            if !model.isTooSmall, model.layout.listRows > 1 {
                try #require((list.top..<(list.top + model.layout.listRows)).contains(list.selected), "step \(step)")
            }
            try #require(
                model.past.count <= BrowseModel.maximumHistoryEntries
                    && model.details.count <= RecentDetails.maximumCount)
        }
    }
}
