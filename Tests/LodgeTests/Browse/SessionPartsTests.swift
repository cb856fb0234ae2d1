import DirectorySearch
import Foundation
import OAuth2AccountStore
import Synchronization
import Testing

@testable import CommandLineKit
@testable import TerminalBrowser
@testable import lodge

/// Tests the parts of a browse session.
@Suite struct SessionPartsTests {
    private func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lodge-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    // MARK: The event queue

    @Test func `next returns all queued events in order`() async {
        let inbox = EventQueue()
        inbox.post([.key(.up), .key(.down)])
        inbox.post(.tick)
        let events = await inbox.next() ?? []
        #expect(events.count == 3)
        guard case .key(.up)? = events.first, case .tick? = events.last else { return #expect(Bool(false)) }
    }

    @Test func `an event, the end of the queue and cancellation each wake the waiting task`() async {
        let inbox = EventQueue()
        async let first = inbox.next()
        inbox.post(.tick)
        #expect(await first?.count == 1)
        let waiting = Task { await inbox.next() }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(await inbox.next() == nil)
    }

    @Test func `the queue is full while too many events are not handled`() async {
        let inbox = EventQueue()
        inbox.post([BrowseEvent](repeating: .key(.down), count: 5000))
        #expect(inbox.isFull)
        _ = await inbox.next()
        #expect(!inbox.isFull)
    }

    // MARK: The log

    @Test(arguments: [
        ("https://a.example/v1.0/users?$filter=x&$top=10", "/v1.0/users?$filter=x&$top=10"),
        ("https://a.example/callback?code=abc&state=s", "/callback?code=***&state=s"),
        (
            "https://a.example/x?access_token=abc&client_secret=d&$skiptoken=e",
            "/x?access_token=***&client_secret=***&$skiptoken=e"
        ),
        ("https://user:pass@a.example", "/"),
    ])
    func `a line of the request log has the path and query, with secrets redacted`(_ address: String, _ line: String)
        throws
    {
        #expect(RequestLog.target(try #require(URL(string: address))) == line)
    }

    // MARK: Copying

    @Test func `the desktop's clipboard program copies; if it fails, the next one; without a desktop, none`() async {
        let asked = Mutex<[String]>([])
        func clipboard(_ environment: [String: String], working: String?) -> BrowseClipboard {
            BrowseClipboard(environment: environment) { words, input, _ in
                asked.withLock { $0.append(words.joined(separator: " ")) }
                return words.first == working && input == Array("a@b".utf8)
            }
        }
        #if os(Linux)
            #expect(
                await clipboard(["WAYLAND_DISPLAY": "w", "DISPLAY": ":0"], working: "wl-copy").copy("a@b") == "wl-copy")
            #expect(await clipboard(["DISPLAY": ":0"], working: "xsel").copy("a@b") == "xsel")
            #expect(asked.withLock { $0 } == ["wl-copy", "xclip -selection clipboard", "xsel --clipboard --input"])
            #expect(await clipboard([:], working: "xclip").copy("a@b") == nil)
        #endif
    }

    @Test func `a program gets the whole text on its standard input, of any length`() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let environment = ["PATH": "/usr/bin:/bin", "PLACE": folder.path]
        let text = Array(String(repeating: "Ada, 李 ", count: 40_000).utf8)
        let program = ProgramWithInput(words: ["sh", "-c", "cat > \"$PLACE/text\""], environment: environment)
        #expect(await program.run(input: text))
        #expect(try Data(contentsOf: folder.appending(path: "text")) == Data(text))
    }

    @Test func `a program that fails, does not exist or reads no input did not copy`() async {
        // As in the program, a write to a closed pipe must be an error and not a signal.
        TerminalState.prepareStandardStreams()
        let environment = ["PATH": "/usr/bin:/bin"]
        #expect(await !ProgramWithInput(words: ["false"], environment: environment).run(input: [1]))
        #expect(await !ProgramWithInput(words: ["no-such-program"], environment: environment).run(input: [1]))
        #expect(
            await !ProgramWithInput(words: ["sh", "-c", "exit 3"], environment: environment).run(
                input: [UInt8](repeating: 1, count: 1 << 20)))
    }

    @Test func `OSC 52 contains the text, and in tmux both forms`() {
        #expect(OSC52.sequence(for: "a@b", isInTmux: false) == "\u{1B}]52;c;YUBi\u{07}")
        #expect(
            OSC52.sequence(for: "a@b", isInTmux: true)
                == "\u{1B}]52;c;YUBi\u{07}\u{1B}Ptmux;\u{1B}\u{1B}]52;c;YUBi\u{07}\u{1B}\\")
    }

    // MARK: Exporting

    @MainActor @Test func `users are exported to a new file in each format, and existing files remain`() throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let ada = User(json: ["id": "1", "displayName": "Ada Lovelace", "mail": "ada@contoso.example"])
        let export = BrowseExport(environment: ["HOME": folder.path], suffix: "x")
        func written(_ name: String, _ users: [User], _ format: BrowseExportFormat) throws -> String {
            try export.write(users, to: "~/" + name, format)
            return try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        }
        let cards = try written("a.vcf", [ada, ada], .vCard)
        // Only a UUID is the URI that a UID is by default (RFC 6350 section 6.7.6).
        #expect(cards.contains("\r\nUID;VALUE=text:1\r\n"), "\(cards)")
        #expect(cards.contains("FN:Ada Lovelace\r\n") && cards.components(separatedBy: "BEGIN:VCARD").count == 3)
        let rows = try written("a.csv", [ada], .csv).components(separatedBy: "\r\n")
        #expect(rows[0].hasPrefix("id,displayName,") && rows[1].hasPrefix("1,Ada Lovelace,") && rows.count == 3)
        let array = try JSONValue(parsing: try written("a.json", [ada], .json)).array
        #expect(array?.count == 1 && array?.first?.object?["mail"] == "ada@contoso.example")
        #expect(throws: CommandError.self) { try export.write([ada], to: folder.path + "/a.csv", .vCard) }
        #expect(try String(contentsOf: folder.appending(path: "a.csv"), encoding: .utf8).hasPrefix("id,"))
        #expect(throws: CommandError.self) { try export.write([ada], to: folder.path + "/nowhere/a.csv", .csv) }
    }

    // MARK: Failures

    @Test func `a browse error has the message of the command and its remedy`() {
        let busy = BrowseFailure(reporting: DirectoryError(.throttled, status: 429, retryAfter: .seconds(12)))
        #expect(busy.summary == "the directory takes no more requests for now" && busy.retryAfter == .seconds(12))
        #expect(BrowseFailure(reporting: DirectoryError(.throttled, status: 429)).retryAfter != nil)
        #expect(BrowseFailure(reporting: DirectoryError(.signInNeeded(claims: nil))).needsSignIn)
        #expect(BrowseFailure(reporting: DirectoryError(.unavailable, status: 503)).isNetwork)
        let denied = BrowseFailure(
            reporting: DirectoryError(.notPermitted(permissions: ["User.Read.All"]), status: 403))
        #expect(denied.summary.contains("User.Read.All") && !denied.needsSignIn && !denied.isNetwork)
    }

    @Test func `an error of browse itself keeps its message`() {
        #expect(BrowseFailure(reporting: BrowseFailure.notSignedIn) == .notSignedIn)
        let partial = BrowseFailure(summary: "the copy on this machine is not complete", reason: "x", hint: "y")
        #expect(BrowseFailure(reporting: partial) == partial)
    }
}
