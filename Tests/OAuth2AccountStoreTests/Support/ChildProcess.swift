import Foundation
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// The program `store-process` in a child process. The process ends when this value is released.
///
/// Sendable is sound: `init` starts the process. Later calls only send a signal or wait, one at a time.
final class TestProcess: @unchecked Sendable {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private let lines: AsyncStream<String>

    /// Creates a process that runs the program with these arguments.
    ///
    /// - Parameters:
    ///   - asNobody: Whether root runs the program as the user `nobody`.
    ///   - isUnmasked: Whether the umask is 0.
    init(_ words: [String], asNobody: Bool = false, isUnmasked: Bool = false) throws {
        let program = Self.products.appending(path: "store-process").path
        if asNobody, geteuid() == 0 {
            process.executableURL = URL(filePath: "/usr/bin/setpriv")
            process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", program] + words
        } else if isUnmasked {
            process.executableURL = URL(filePath: "/bin/sh")
            process.arguments = ["-c", #"umask 0; exec "$0" "$@""#, program] + words
        } else {
            process.executableURL = URL(filePath: program)
            process.arguments = words
        }
        process.standardOutput = output
        process.standardInput = input
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        lines = stream
        let reading = output.fileHandleForReading
        try process.run()
        process.limit(seconds: 600)
        // Reading blocks, so it has a separate thread.
        Thread {
            var rest = Data()
            while true {
                // Returns the available bytes; read(upToCount:) would wait for all of them.
                let chunk = reading.availableData
                if chunk.isEmpty { break }
                rest += chunk
                while let end = rest.firstIndex(of: 0x0A) {
                    continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[(end + 1)...])
                }
            }
            continuation.finish()
        }.start()
    }

    deinit { kill() }

    private static var products: URL {
        Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
            ?? Bundle.main.bundleURL
    }

    /// Waits until the program prints this line. Returns false if the program ends first.
    func says(_ line: String) async -> Bool {
        for await said in lines where said == line { return true }
        return false
    }

    /// Lets the program continue.
    func goOn() { try? input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

    /// Returns the remaining lines until the program ends.
    func rest() async -> [String] {
        var all: [String] = []
        for await line in lines { all.append(line) }
        return all
    }

    /// Returns the next line, or `nil` at the end.
    func nextLine() async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// Kills the process immediately, between any two instructions.
    func kill() { if process.isRunning { signaled(process.processIdentifier) } }
}

private func signaled(_ process: Int32) { kill(process, SIGKILL) }
