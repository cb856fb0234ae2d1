import Foundation
import LoopbackHTTP
import OAuth2AccountStore
import Synchronization

/// The program `store-process`. Deinitialization kills it.
///
/// Sendable is sound: the process is started in `init`, and afterwards only signaled.
final class Worker: @unchecked Sendable {
    private let process = Process()
    private let input = Pipe()
    private let lines: AsyncStream<String>

    init(_ words: [String]) throws {
        let products =
            Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
            ?? Bundle.main.bundleURL
        process.executableURL = products.appending(path: "store-process")
        process.arguments = words
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = input
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        lines = stream
        try process.run()
        // A separate thread, because reading blocks.
        Thread {
            var rest = Data()
            while case let chunk = output.fileHandleForReading.availableData, !chunk.isEmpty {
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

    /// Waits until the program says this; false when it ended without.
    func says(_ line: String) async -> Bool {
        for await said in lines where said == line { return true }
        return false
    }

    /// Lets the program continue.
    func resume() { try? input.fileHandleForWriting.write(contentsOf: Data("\n".utf8)) }

    /// Returns the next line, or `nil` after the last one.
    func nextLine() async -> String? {
        for await line in lines { return line }
        return nil
    }

    /// Returns the remaining lines.
    func rest() async -> [String] {
        var all: [String] = []
        for await line in lines { all.append(line) }
        return all
    }

    /// Kills the process immediately, between any two instructions.
    func kill() { if process.isRunning { signaled(process.processIdentifier) } }
}

private func signaled(_ process: Int32) { kill(process, SIGKILL) }

/// A token endpoint on loopback: it rotates refresh tokens and ends the chain when one is used twice.
final class RotatingProvider: Sendable {
    struct Counts {
        var good: Set<String> = ["RT-0"]
        var issued = 0
        var refreshes = 0
        var reuses = 0
        var stalls = 0
        var isHeld = false
    }

    private final class Core: Sendable {
        let counts = Mutex(Counts())
        let arrivals = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)

        func answer(_ request: LoopbackRequest) async -> LoopbackResponse {
            let isStalled = counts.withLock { counts in
                defer { counts.stalls = 0 }
                return counts.stalls > 0
            }
            if isStalled {
                arrivals.continuation.yield()
                // Until the listener goes; it has no effect.
                for await _ in AsyncStream<Void>(unfolding: { try? await Task.sleep(for: .seconds(600)) }) {}
                return LoopbackResponse(status: 503)
            }
            let form = URLComponents(string: "?" + String(decoding: request.body, as: UTF8.self))?.queryItems
            let sent = form?.first { $0.name == "refresh_token" }?.value ?? ""
            let number = counts.withLock { counts -> Int? in
                counts.refreshes += 1
                guard counts.good.remove(sent) != nil else {
                    counts.reuses += 1
                    counts.good = []
                    return nil
                }
                counts.issued += 1
                counts.good.insert("RT-\(counts.issued)")
                return counts.issued
            }
            let isHeld = counts.withLock { counts in
                defer { counts.isHeld = false }
                return counts.isHeld
            }
            if isHeld {
                arrivals.continuation.yield()
                for await _ in release.stream { break }
            }
            let body =
                number.map {
                    #"{"access_token":"AT-\#($0)","token_type":"Bearer","refresh_token":"RT-\#($0)","expires_in":3600}"#
                } ?? #"{"error":"invalid_grant"}"#
            return LoopbackResponse(
                status: number == nil ? 400 : 200, fields: ["Content-Type": "application/json"],
                body: Data(body.utf8))
        }
    }

    private let core = Core()
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }
    var counts: Counts { core.counts.withLock { $0 } }

    init(good: Set<String> = ["RT-0"]) throws {
        listener = try LoopbackListener(limits: .server) { [core] in await core.answer($0) }
        core.counts.withLock { $0.good = good }
    }

    /// Makes the next request wait forever, without an effect.
    func stallNext() { core.counts.withLock { $0.stalls = 1 } }

    /// Makes the next request wait for ``letGo()`` after it took effect.
    func holdNext() { core.counts.withLock { $0.isHeld = true } }
    func letGo() { core.release.continuation.yield() }

    /// Waits for a request that waits.
    func stalled() async { for await _ in core.arrivals.stream { return } }
}
