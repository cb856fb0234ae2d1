import Foundation
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

/// The program `store-process`, running beside the test. It is killed when the value goes.
///
/// Sendable is sound: the process is started in `init`, and afterwards only signalled and waited for, each once at a time.
final class TestProcess: @unchecked Sendable {
    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private let lines: AsyncStream<String>

    /// Starts the program with these words: as the user `nobody` when told so and the test runs as root; with an umask that
    /// takes nothing away when told so.
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
        // A thread of its own, because reading blocks.
        Thread {
            var rest = Data()
            while true {
                // Gives what is there; read(upToCount:) would wait for all of it.
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

    /// Waits until the program says this; false when it ended without.
    func says(_ line: String) async -> Bool {
        for await said in lines where said == line { return true }
        return false
    }

    /// Lets the program go on.
    func goOn() { try? input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

    /// What it says from now to its end.
    func rest() async -> [String] {
        var all: [String] = []
        for await line in lines { all.append(line) }
        return all
    }

    /// The next line; nil at its end.
    func nextLine() async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// Ends it as nothing else does: at once, between any two instructions.
    func kill() { if process.isRunning { signalled(process.processIdentifier) } }
}

private func signalled(_ process: Int32) { kill(process, SIGKILL) }
