import Foundation
import CurlHTTP
import HTTPExchange
import Synchronization

/// A large transfer for tests with real servers. It prints its result and peak memory on one line.
struct Transfer {
    private let method: HTTPMethod
    private let url: String
    private var options: [String: String] = [:]

    /// Creates a transfer from the arguments `METHOD URL NAME=VALUE...`.
    init(_ words: [String]) {
        method = HTTPMethod(rawValue: words[0])
        url = words.count > 1 ? words[1] : ""
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            options[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
        }
    }

    /// Runs the transfer and exits with 0 after any response.
    func run() async -> Never {
        let last = LastProgress()
        do {
            guard let address = URL(string: url) else { throw CocoaError(.fileNoSuchFile) }
            var request = HTTPRequest(method, address, content: options["file"].map { .file(at: URL(filePath: $0)) })
            request.trust.caFile = options["ca"]
            if let text = options["pin"], let pin = PublicKeyPin(text) { request.trust.pinnedKeys = [pin] }
            request.redirects = .follow(limit: 3)
            let transport = CurlTransport()
            // Unread streams, and small requests at the same time.
            var held: [HTTPStreamedResponse] = []
            for _ in 0..<(options["hold"].flatMap { Int($0) } ?? 0) { held.append(try await transport.stream(request)) }
            if !held.isEmpty, let small = URL(string: "/small", relativeTo: address)?.absoluteURL {
                var other = HTTPRequest(.get, small)
                other.trust = request.trust
                other.timeout = .seconds(10)
                for _ in 0..<20 {
                    guard try await transport.send(other).status == 200 else { throw CocoaError(.featureUnsupported) }
                }
            }
            if let location = options["to"] {
                let saved = try await transport.download(request, to: URL(filePath: location), progress: last.report)
                end("status=\(saved.response.status) size=\(saved.size) resumed=\(saved.resumed) \(last.words)")
            }
            if options["whole"] != nil { end("status=\(try await transport.send(request).status)") }
            let answer = try await transport.stream(request, progress: last.report)
            var size = 0
            for try await chunk in answer.body {
                size += chunk.count
            }
            end("status=\(answer.status) size=\(size) \(last.words) held=\(held.count)")
        } catch let error as HTTPTransportError {
            end("error=\(error.kind) \(last.words) reason=\(error)", status: 1)
        } catch {
            end("error=\(type(of: error)) reason=\(error)", status: 1)
        }
    }

    private func end(_ line: String, status: Int32 = 0) -> Never {
        StoreProcess.say("memory=\(Self.peak) \(line)")
        exit(status)
    }

    /// The peak memory of the process in KiB, or 0 if the system does not report it.
    private static var peak: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}

/// The last report of a transfer's progress.
private final class LastProgress: Sendable {
    private let last = Mutex(HTTPProgress())

    var report: HTTPProgress.Handler { { [self] progress in last.withLock { $0 = progress } } }

    var words: String {
        let progress = last.withLock { $0 }
        return "sent=\(progress.sent) received=\(progress.received)"
    }
}
