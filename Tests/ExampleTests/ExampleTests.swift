import Foundation
import CurlHTTP
import HTTPExchange
import LocalProvider
import TestSupport
import Testing

@Suite struct ExampleTests {
    @Test func `SignInAndSearch signs in and prints the matching users`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess(provider).run("SignInAndSearch")
        let expected = provider.users.filter { $0.givenName?.hasPrefix("Ada") == true && $0.givenName != nil }
        #expect(!expected.isEmpty)
        #expect(output.status == 0, "\(output.errors)")
        #expect(Set(output.lines) == Set(expected.map { "\($0.displayName ?? "") \($0.mail ?? "")" }))
    }

    @Test func `WatchAccounts prints each event from both event sources`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess(provider).run("WatchAccounts")
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "notification: local", "notification: an account was removed", "added ada@contoso.example",
                "data of ada@contoso.example is [\"favourite\": \"tea\"]", "removed an account of type local",
            ])
    }

    @Test func `SendRequest sends a request, uploads a file and saves a large response`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let output = try await ExampleProcess(provider).run("SendRequest")
        #expect(output.status == 0, "\(output.errors)")
        #expect(
            output.lines == [
                "Ada Lovelace ada@contoso.example", "upload: 405 with an explanation", "received much",
                "people: 200 in a large file",
            ])
        #expect(provider.log().contains { $0.method == "POST" && $0.path == "/v1.0/files" })
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test func `an example has fewer than 60 lines`() throws {
        let folder = Self.root.appending(path: "Examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count >= 3)
        for name in names {
            let source = try String(contentsOf: folder.appending(path: "\(name)/main.swift"), encoding: .utf8)
            #expect(source.split(separator: "\n", omittingEmptySubsequences: false).count < 61, "\(name)")
        }
    }

    /// Reads only the text: `make docs` compiles the Swift code of the README and of the articles.
    @Test func `the README has at most 150 lines, and its Swift code has its imports`() throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 151)
        let blocks = readme.components(separatedBy: "```swift\n").dropFirst()
        #expect(!blocks.isEmpty)
        for block in blocks { #expect(block.hasPrefix("import ")) }
    }
}

/// Runs an example in another process. The test acts as the user with the browser: the example's `$BROWSER` is a script
/// that writes the URL to a file.
struct ExampleProcess {
    let provider: LoopbackProvider

    struct Output {
        var status: Int32
        var lines: [String]
        var errors: String
    }

    init(_ provider: LoopbackProvider) { self.provider = provider }

    func run(_ name: String) async throws -> Output {
        let folder = FileManager.default.temporaryDirectory.appending(path: "example-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let page = folder.appending(path: "url")
        let browser = folder.appending(path: "browser").path
        try "#!/bin/sh\nprintf '%s' \"$1\" > '\(page.path).new' && mv '\(page.path).new' '\(page.path)'\n"
            .write(toFile: browser, atomically: true, encoding: .utf8)
        try #require(chmod(browser, 0o700) == 0)
        let settings = folder.appending(path: "settings.json").path
        try """
        {"types": {"local": {"issuer": "\(provider.issuer)", "clientId": "\(provider.clientID)",
        "redirectUri": "http://127.0.0.1/callback", "graphAPI": "\(provider.graphBase)",
        "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]}}}
        """.write(toFile: settings, atomically: true, encoding: .utf8)

        let process = Process()
        process.executableURL = Self.products.appending(path: name)
        process.arguments = [settings]
        process.environment = [
            "PATH": "/usr/bin:/bin", "HOME": folder.path,
            "BROWSER": browser,
        ]
        let out = Pipe()
        let errors = Pipe()
        process.standardOutput = out
        process.standardError = errors
        let ended = AsyncStream<Int32> { continuation in
            process.terminationHandler = {
                continuation.yield($0.terminationStatus)
                continuation.finish()
            }
        }
        try process.run()
        process.limit()
        var address: String?
        while address == nil, process.isRunning {
            try await Task.sleep(for: .milliseconds(5))
            address = try? String(contentsOf: page, encoding: .utf8)
        }
        if let url = address.flatMap(URL.init) { _ = try? await Approval().approve(url, transport: CurlTransport()) }
        async let written = onThread { out.fileHandleForReading.readDataToEndOfFile() }
        async let complaints = onThread { errors.fileHandleForReading.readDataToEndOfFile() }
        let text = String(decoding: await written, as: UTF8.self)
        var status: Int32 = -1
        for await code in ended { status = code }
        return Output(
            status: status, lines: text.split(separator: "\n").map(String.init),
            errors: String(decoding: await complaints, as: UTF8.self))
    }

    /// The build folder, which contains the examples and the tests.
    private static var products: URL {
        #if os(macOS)
            Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
                ?? Bundle.main.bundleURL
        #else
            URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        #endif
    }

    private func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
