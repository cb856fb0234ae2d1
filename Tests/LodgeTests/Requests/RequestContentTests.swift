import Foundation
import HTTPExchange
import Synchronization
import Testing

@testable import CommandLineKit
@testable import lodge

@Suite @MainActor struct RequestContentTests {
    private nonisolated static let batch = #"{"requests":[{"id":"1","method":"GET","url":"/me"}]}"#

    @Test func `request sends JSON, raw data or a form`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let json = await terminal.run("request", "POST", "/$batch", "--json", Self.batch)
        #expect(json.status == 0 && json.output.contains("ada@contoso.example"), "\(json)")
        let wrong = await terminal.run("request", "POST", "/$batch", "--json", "{\"requests\":")
        #expect(wrong.status == 2 && wrong.errors.contains("--json"), "\(wrong)")
        let data = await terminal.run(
            "request", "POST", "/$batch", "--data", "@-", "--header", "Content-Type: application/json",
            input: Self.batch)
        #expect(data.status == 0 && data.output.contains("ada@contoso.example"), "\(data)")
        let form = await terminal.run("request", "GET", "/users", "--form", "$top=1", "--form", "$select=mail")
        #expect(form.status == 0 && form.output.components(separatedBy: "\"mail\"").count == 2, "\(form)")
        let part = await terminal.run("request", "POST", "/$batch", "--part", "title=Ada \"Quotes\"")
        #expect(part.status == 1 && part.errors.contains("HTTP 4"), "\(part)")
        let both = await terminal.run("request", "POST", "/$batch", "--data", "a", "--json", "1")
        #expect(both.status == 2 && both.errors.contains("cannot be combined"), "\(both)")
    }

    @Test func `request reads content from a pipe, and the error names a file that it cannot read`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        for option in ["--json", "--data"] {
            // Like <(…) of a shell: a pipe with a path. The writer may already be closed.
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data(Self.batch.utf8))
            try pipe.fileHandleForWriting.close()
            let sent = await terminal.run(
                "request", "POST", "/$batch", option, "@/dev/fd/\(pipe.fileHandleForReading.fileDescriptor)",
                "--header", "Content-Type: application/json")
            #expect(sent.status == 0 && sent.output.contains("ada@contoso.example"), "\(sent)")
        }
        let folder = terminal.folder.path
        for (path, reason) in [
            (folder + "/none", "No such file"), (folder, "it is a folder"), ("/dev/null", "a device"),
        ] {
            let missing = await terminal.run("request", "POST", "/$batch", "--data", "@\(path)")
            #expect(missing.status == 2 && missing.errors.contains("the file \(path)"), "\(missing)")
            #expect(missing.errors.contains(reason), "\(missing)")
        }
        for type in ["text", "a/b\r\nX: y", "image/ä"] {
            let wrong = await terminal.run("request", "POST", "/$batch", "--part", "file=@\(folder)/none;type=\(type)")
            #expect(wrong.status == 2 && wrong.errors.contains("wrong type in --part"), "\(wrong)")
        }
    }

    @Test func `the temporary file of standard input has no name that could remain`() throws {
        let file = try InputFile()
        try Data("first".utf8).write(to: URL(filePath: file.path))
        for _ in 0..<2 { #expect(try Data(contentsOf: URL(filePath: file.path)) == Data("first".utf8)) }
        #expect(try HTTPBody.file(at: URL(filePath: file.path)).length() == 5)
        #if os(Linux)
            let folder = FileManager.default.temporaryDirectory.path(percentEncoded: false)
            #expect(file.path.hasPrefix("/dev/fd/") || !FileManager.default.fileExists(atPath: "/proc/self/fd"))
            let number = file.path.split(separator: "/").last.map(String.init) ?? ""
            let name = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            #expect(name.contains("lodge-input-") && name.hasSuffix("(deleted)"), "\(name) in \(folder)")
        #endif
        file.remove()
        #if os(Linux)
            // Another thread may have reused the number of the descriptor for another file.
            #expect((try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) != name)
        #else
            #expect(!FileManager.default.fileExists(atPath: file.path))
        #endif
    }

    @Test func `each chunk of a response is written to the pipe immediately`() async throws {
        let captured = CapturedConsole()
        let output = captured.output
        let isFirst = Mutex(true)
        let seen = Mutex("")
        let body = HTTPResponseBody {
            let first = isFirst.withLock { value in
                defer { value = false }
                return value
            }
            if first { return Data("data: 1\n".utf8) }
            let text = await output.text
            seen.withLock { $0 = text }
            return nil
        }
        let answer = ResponseOutput(
            console: captured.console, line: TransferProgress(captured.console, isForFile: false), includesHead: false)
        try await answer.write(HTTPStreamedResponse(status: 200, body: body))
        #expect(seen.withLock { $0 } == "data: 1\n")
    }

    @Test func `request --no-account sends no token, and --scope requests a scope`() async throws {
        let terminal = try await Terminal()
        let metadata = "\(terminal.provider.issuer)/.well-known/openid-configuration"
        let unsigned = await terminal.run("request", "GET", metadata, "--no-account")
        #expect(unsigned.status == 0 && unsigned.output.contains("token_endpoint"), "\(unsigned)")
        #expect(await terminal.run("request", "GET", "/me", "--no-account").status == 4)
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("request", "GET", "/me", "--scope", "User.Read").status == 0)
        let unknown = await terminal.run("request", "GET", "/me", "--scope", "Nobody.Has.This")
        #expect(unknown.status != 0 && !unknown.errors.isEmpty, "\(unknown)")
    }
}
