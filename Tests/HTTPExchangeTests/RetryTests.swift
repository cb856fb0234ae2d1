import Foundation
import HTTPExchange
import Synchronization
import Testing

@Suite struct `Retries` {
    let request = HTTPRequest(.get, URL(filePath: "/"))

    /// Runs the policy on these results, and returns the delays and the number of attempts.
    private func run(
        _ policy: HTTPRetryPolicy, of request: HTTPRequest? = nil, _ results: [Result<HTTPResponse, HTTPTransportError>]
    ) async -> (waits: [Duration], attempts: Int, status: Int?) {
        let waits = Mutex<[Duration]>([])
        var attempts = 0
        let response = try? await policy.run(
            request ?? self.request, sleep: { wait in waits.withLock { $0.append(wait) } }, random: { 0.5 }
        ) { number in
            #expect(number == attempts)
            attempts += 1
            return try results[min(number, results.count - 1)].get()
        }
        return (waits.withLock { $0 }, attempts, response?.status)
    }

    private let busy = Result<HTTPResponse, HTTPTransportError>.success(HTTPResponse(status: 503))
    private let fine = Result<HTTPResponse, HTTPTransportError>.success(HTTPResponse(status: 200))
    private let lost = Result<HTTPResponse, HTTPTransportError>.failure(
        HTTPTransportError(.connectionLost, host: "", reason: ""))

    @Test func `the delays double until the first success`() async {
        let result = await run(HTTPRetryPolicy(), [busy, lost, busy, fine])
        #expect(result.waits == [.seconds(1), .seconds(2), .seconds(4)])
        #expect(result.attempts == 4 && result.status == 200)
    }

    @Test func `after the last retry, the policy returns the last response or error`() async {
        #expect(await run(HTTPRetryPolicy(maximumRetries: 1), [busy]).attempts == 2)
        #expect(await run(HTTPRetryPolicy(maximumRetries: 1), [busy]).status == 503)
        #expect(await run(HTTPRetryPolicy(maximumRetries: 2), [lost]).status == nil)
        #expect(await run(.never, [busy, fine]).attempts == 1)
    }

    @Test func `only the methods, statuses and errors of the policy are retried`() async {
        #expect(await run(HTTPRetryPolicy(), of: HTTPRequest(.post, request.url), [busy, fine]).attempts == 1)
        #expect(
            await run(HTTPRetryPolicy(methods: [.post]), of: HTTPRequest(.post, request.url), [busy, fine]).attempts
                == 2)
        #expect(await run(HTTPRetryPolicy(statuses: [500]), [busy, fine]).attempts == 1)
        #expect(await run(HTTPRetryPolicy(failures: [.timedOut]), [lost, fine]).attempts == 1)
        let once = HTTPBody.chunks(isReplayable: false) { AsyncStream<Data> { $0.finish() } }
        #expect(
            await run(HTTPRetryPolicy(), of: HTTPRequest(.put, request.url, content: once), [busy, fine]).attempts == 1)
    }

    @Test func `the policy obeys Retry-After within its budget`() async {
        func asking(_ seconds: String) -> Result<HTTPResponse, HTTPTransportError> {
            .success(HTTPResponse(status: 429, fields: ["Retry-After": seconds]))
        }
        #expect(await run(HTTPRetryPolicy(), [asking("7"), fine]).waits == [.seconds(7)])
        #expect(await run(HTTPRetryPolicy(), [asking("31"), fine]).attempts == 1)
        #expect(await run(HTTPRetryPolicy(totalDelay: .seconds(50)), [asking("20")]).waits.count == 2)
    }
}
