import CommandLineKit
import HTTPExchange
import OAuth2AccountStore
import LodgePlatform

/// Reports requests, waits and refreshes on standard error.
///
/// With `--verbose`, it prints one line for each. On a terminal, it reports only waits of more than a second.
@MainActor final class ActivityReport {
    /// Whether neither the options nor the terminal require reports.
    nonisolated let isSilent: Bool
    private let console: Console
    private let reportsRequests: Bool
    /// The requests without a response, by number.
    private var pending: [Int: (request: String, start: ContinuousClock.Instant)] = [:]
    private var lastNumber = 0
    private var ticker: Task<Void, Never>?

    /// The minimum length of a wait that is reported on a terminal.
    nonisolated static let patience = Duration.seconds(1)

    init(_ console: Console) {
        self.console = console
        reportsRequests = console.options.verbosity >= .verbose
        isSilent = !console.showsAdvice
    }

    func write(_ activity: StoreActivity) {
        switch activity {
        case .waitsBeforeRetry(let wait): write(wait)
        case .waitsForOtherProcess:
            console.advise("Waiting for another process that refreshes the tokens of this account.")
        case .refreshedTokens: console.verbose("Refreshed the access token.")
        }
    }

    /// Reports a wait at its start, because its length is known.
    func write(_ wait: HTTPRetryWait) {
        guard reportsRequests || wait.delay > Self.patience else { return }
        console.advise(Self.text(wait))
    }

    nonisolated static func text(_ wait: HTTPRetryWait) -> String {
        let attempt = "(attempt \(wait.attempt) of \(wait.maximumAttempts))"
        let time = TimeText.seconds(wait.delay)
        if wait.isRequested { return "\(wait.service) asks to wait \(time) \(attempt)." }
        let reason = wait.status.map { "\(wait.service) responded with HTTP status \($0)" }
        return "\(reason ?? "No response from \(wait.service)"): next attempt in \(time) \(attempt)."
    }

    // MARK: Requests

    /// Records the start of a request and returns its number.
    fileprivate func begin(_ request: HTTPRequest) -> Int {
        console.debug("> \(request)")
        lastNumber += 1
        pending[lastNumber] = (request.url.host() ?? "the server", .now)
        if !reportsRequests, ticker == nil { ticker = Task { [weak self] in await self?.showWaits() } }
        return lastNumber
    }

    /// Reports the end of a request.
    fileprivate func end(_ number: Int, _ request: HTTPRequest, _ result: String, _ details: String) {
        console.debug("< \(details)")
        guard let (_, start) = pending.removeValue(forKey: number) else { return }
        if pending.isEmpty {
            ticker?.cancel()
            ticker = nil
        }
        console.verbose("\(request): \(result) in \(TimeText.seconds(ContinuousClock.now - start))")
    }

    /// Shows late responses on the progress line of the terminal, if that is empty.
    private func showWaits() async {
        var shown = ""
        while (try? await Task.sleep(for: Self.patience)) != nil {
            guard console.progress.isEmpty || console.progress == shown,
                let oldest = pending.values.min(by: { $0.start < $1.start }),
                case let time = ContinuousClock.now - oldest.start, time >= Self.patience
            else { continue }
            shown = "Waiting for \(oldest.request), \(time.components.seconds) s"
            console.showProgress(shown)
        }
        if !shown.isEmpty, console.progress == shown { console.hideProgress() }
    }
}

/// A transport that reports each request.
struct ReportedTransport: HTTPTransport {
    let inner: any HTTPTransport
    let report: ActivityReport

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await reported(request) {
            let response = try await inner.send(request)
            return (response, response.status, "\(response)")
        }
    }

    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        try await reported(request) {
            let response = try await inner.stream(request, progress: progress)
            return (response, response.status, "\(response)")
        }
    }

    private func reported<Response: Sendable>(
        _ request: HTTPRequest, _ send: () async throws -> (Response, status: Int, details: String)
    ) async throws -> Response {
        let number = await report.begin(request)
        do {
            let (response, status, details) = try await send()
            await report.end(number, request, "\(status)", details)
            return response
        } catch {
            await report.end(number, request, error is CancellationError ? "cancelled" : "\(error)", "\(error)")
            throw error
        }
    }
}
