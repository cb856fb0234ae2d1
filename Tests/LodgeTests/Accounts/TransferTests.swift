import Foundation
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct TransferTests {
    private static let answer = #"{"access_token": "AT-file", "token_type": "Bearer", "refresh_token": "RT-file"}"#

    @Test func `accounts are imported from standard input or a file, once`() async throws {
        let terminal = try await Terminal()
        let first = await terminal.run("accounts", "import", input: Self.answer)
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.lines.count == 2 && first.lines[1].hasPrefix("added\t"))
        #expect(first.errors.contains("not verified"))
        let file = terminal.folder.appending(path: "answer.json")
        try Self.answer.write(to: file, atomically: true, encoding: .utf8)
        let second = await terminal.run("accounts", "import", file.path, "-o", "json")
        #expect(try JSONValue(parsing: second.output).array?.first?.object?["result"] == "unchanged")
        #expect(await terminal.run("accounts").lines.count == 2)
        #expect(!first.output.contains("RT-file") && !second.output.contains("AT-file"))
    }

    @Test func `a file may be a pipe whose writer takes its time`() async throws {
        let terminal = try await Terminal()
        let path = terminal.folder.appending(path: "pipe").path
        try #require(mkfifo(path, 0o600) == 0)
        let bytes = Data(Self.answer.utf8)
        let writer = Thread {
            // Without O_NONBLOCK, opening would wait for a reader without a limit.
            let end = Date(timeIntervalSinceNow: TestTime.seconds())
            var descriptor: Int32 = -1
            while descriptor < 0, Date.now < end {
                Thread.sleep(forTimeInterval: 0.01)
                descriptor = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            }
            guard descriptor >= 0 else { return }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            try? file.write(contentsOf: bytes)
            try? file.close()
        }
        writer.start()
        let answer = await terminal.run("accounts", "import", path)
        #expect(answer.status == 0 && answer.lines.count == 2, "\(answer.errors)")
    }

    @Test(arguments: ["", "{", "[7]", #"{"access_token": 7}"#])
    func `a bad file is told with its place`(text: String) async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("accounts", "import", input: text)
        #expect(answer.status == 2)
        #expect(answer.errors.hasPrefix("lodge: nothing was imported: standard input"))
        #expect(answer.errors.contains("\nhint: "))
    }

    @Test func `a file without an account that fits ends with 3`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run(
            "accounts", "import",
            input: #"[{"accountType": "elsewhere", "accessToken": {"accessToken": "t"}}]"#)
        #expect(answer.status == 3 && answer.output.contains("elsewhere"))
        #expect(await terminal.run("accounts", "import", "/no/such/file").status == 1)
    }

    @Test func `an export needs its word, is private, and comes back`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let refused = await terminal.run("accounts", "export")
        #expect(refused.status == 2 && refused.output.isEmpty && refused.errors.contains("--reveal-secrets"))
        let path = terminal.folder.appending(path: "export.json").path
        let done = await terminal.run("accounts", "export", "--reveal-secrets", "--output-file", path)
        #expect(done.status == 0 && done.output.isEmpty, "\(done.errors)")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(await terminal.run("accounts", "export", "--reveal-secrets", "--output-file", path).status == 1)
        let piped = await terminal.run("accounts", "export", "--reveal-secrets", "ada@contoso.example")
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(piped.status == 0 && piped.output == written)
        terminal.set("LODGE_STORE", terminal.folder.appending(path: "other").path)
        #expect(await terminal.run("accounts", "import", path).status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(await terminal.run("accounts", "import", path).lines.last?.hasPrefix("unchanged") == true)
    }

    @Test func `a name of one's own is good for --account`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        #expect(await terminal.run("accounts", "rename", "ada@contoso.example", "work").status == 0)
        #expect(await terminal.run("accounts").output.contains("\twork\t"))
        #expect(await terminal.run("me", "--account", "work").status == 0)
        let bad = await terminal.run("accounts", "rename", "work", "a\u{202E}b")
        #expect(bad.status == 2, "\(bad.errors)")
        #expect(await terminal.run("accounts", "rename", "nobody", "x").status == 3)
    }
}
