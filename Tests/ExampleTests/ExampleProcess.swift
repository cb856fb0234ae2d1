import CurlHTTP
import Foundation
import LocalProvider
import Synchronization
import TestSupport
import Testing

/// An example that runs in another process. Its output is a terminal, so that it writes each line immediately. The test acts as the user with
/// the browser: the example's `$BROWSER` is a script that writes each URL to a file.
final class ExampleProcess {
    struct Output {
        var status: Int32
        var lines: [String]
        var errors: String
    }

    private let folder = FileManager.default.temporaryDirectory.appending(path: "example-\(UUID().uuidString)")
    private let process = Process()
    private let input = Pipe()
    private let transcript = Transcript()
    private let exit: AsyncStream<Int32>
    private var page: URL { folder.appending(path: "urls") }
    private var errors: URL { folder.appending(path: "errors") }

    /// Creates and starts an example with the settings of a local provider.
    convenience init(_ name: String, _ provider: LoopbackProvider) throws {
        try self.init(name, settings: Self.settings(provider))
    }

    /// Creates and starts an example with the path of a settings file, or with other arguments.
    init(_ name: String, settings: String = "", arguments: [String] = []) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let browser = folder.appending(path: "browser").path
        try "#!/bin/sh\nprintf '%s\\n' \"$1\" >> '\(folder.appending(path: "urls").path)'\n"
            .write(toFile: browser, atomically: true, encoding: .utf8)
        try #require(chmod(browser, 0o700) == 0)
        let file = folder.appending(path: "settings.json").path
        if !settings.isEmpty { try settings.write(toFile: file, atomically: true, encoding: .utf8) }
        process.executableURL = Self.products.appending(path: name)
        process.arguments = (settings.isEmpty ? [] : [file]) + arguments
        process.environment = ["PATH": "/usr/bin:/bin", "HOME": folder.path, "BROWSER": browser]
        process.standardInput = input
        let terminal = try Self.openTerminal()
        process.standardOutput = terminal.output
        let errors = folder.appending(path: "errors").path
        try #require(FileManager.default.createFile(atPath: errors, contents: nil))
        process.standardError = FileHandle(forWritingAtPath: errors)
        let (exit, continuation) = AsyncStream.makeStream(of: Int32.self)
        self.exit = exit
        process.terminationHandler = {
            continuation.yield($0.terminationStatus)
            continuation.finish()
        }
        try process.run()
        process.limit()
        try terminal.output.close()
        Thread.detachNewThread { [transcript] in transcript.read(terminal.reading) }
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// Returns the settings of a local provider.
    static func settings(_ provider: LoopbackProvider, redirectURI: String = "http://127.0.0.1/callback") -> String {
        """
        {"types": {"local": {"issuer": "\(provider.issuer)", "clientId": "\(provider.clientID)",
        "redirectUri": "\(redirectURI)", "graphAPI": "\(provider.graphBase)",
        "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"]}}}
        """
    }

    var isRunning: Bool { process.isRunning }

    /// The complete lines of the output so far.
    var lines: [String] { transcript.lines }

    /// Waits for a line of the output, counted from 0.
    func line(_ number: Int) async throws -> String {
        try await until { lines.count > number || transcript.hasEnded }
        return try #require(lines.dropFirst(number).first, "\(lines)")
    }

    /// Waits for a URL that the example opens in the browser, counted from 0.
    func address(_ number: Int) async throws -> URL {
        var found: URL?
        try await until {
            let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
            let complete = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            found = complete.dropFirst(number).first.flatMap { URL(string: String($0)) }
            return found != nil || transcript.hasEnded
        }
        return try #require(found, "\(lines)")
    }

    /// Types a line.
    func type(_ line: String) throws { try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    /// Ends the input, as Ctrl-D does.
    func closeInput() throws { try input.fileHandleForWriting.close() }

    /// Asks the process to end.
    func terminate() { process.terminate() }

    /// Waits for the end of the process.
    func end() async throws -> Output {
        var status: Int32 = -1
        for await code in exit { status = code }
        try await until { transcript.hasEnded }
        return Output(status: status, lines: lines, errors: try String(contentsOf: errors, encoding: .utf8))
    }

    /// Approves one sign-in, and waits for the end of the process.
    func signingIn() async throws -> Output {
        try await Approval().approve(try await address(0), transport: CurlTransport())
        return try await end()
    }

    /// Opens a pseudo-terminal.
    private static func openTerminal() throws -> (reading: Int32, output: FileHandle) {
        #if os(Linux)
            // Swift cannot see posix_openpt of glibc. These are TIOCSPTLCK and TIOCGPTN.
            let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var (lock, number): (Int32, Int32) = (0, 0)
            try #require(ioctl(terminal, 0x4004_5431, &lock) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
            let name = "/dev/pts/\(number)"
        #else
            let terminal = posix_openpt(O_RDWR | O_NOCTTY)
            try #require(grantpt(terminal) == 0 && unlockpt(terminal) == 0)
            let name = String(cString: try #require(ptsname(terminal)))
        #endif
        let output = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(output >= 0)
        return (terminal, FileHandle(fileDescriptor: output, closeOnDealloc: true))
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
}

/// The output of a terminal.
private final class Transcript: Sendable {
    private let state = Mutex<(bytes: [UInt8], hasEnded: Bool)>(([], false))

    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    var lines: [String] {
        let bytes = state.withLock { $0.bytes }
        return bytes.split(separator: 0x0A, omittingEmptySubsequences: false).dropLast()
            .map { String(decoding: $0.filter { $0 != 0x0D }, as: UTF8.self) }
    }

    /// Reads until all writers have closed the terminal, and closes it.
    func read(_ terminal: Int32) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = Foundation.read(terminal, &buffer, buffer.count), count > 0 {
            state.withLock { $0.bytes += buffer[..<count] }
        }
        close(terminal)
        state.withLock { $0.hasEnded = true }
    }
}
