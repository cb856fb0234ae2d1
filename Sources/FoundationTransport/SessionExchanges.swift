import Dispatch
import Foundation
import HTTPExchange
import Synchronization

/// The exchanges of a session in progress.
final class SessionExchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let limit: Int
        let url: URL
        let continuation: CheckedContinuation<HTTPResponse, any Error>
        var body = Data()
        var isTooLarge = false
        var isOverdue = false
    }

    private struct State {
        var running: [Int: Exchange] = [:]
        /// The errors of tasks that were cancelled before they started. The start of the task removes its entry.
        var earlyEnds: [Int: any Error] = [:]
        var cancelled: Set<Int> = []
        var redirected: Set<Int> = []
    }

    private let state = Mutex(State())

    func begin(
        _ number: Int, limit: Int, _ url: URL, _ continuation: CheckedContinuation<HTTPResponse, any Error>
    ) {
        let end = state.withLock { state -> (any Error)? in
            if let end = state.earlyEnds.removeValue(forKey: number) { return end }
            state.running[number] = Exchange(limit: max(0, limit), url: url, continuation: continuation)
            return nil
        }
        if let end { continuation.resume(throwing: end) }
    }

    /// Marks the exchange as timed out. The caller cancels its task.
    func expire(_ number: Int) { state.withLock { $0.running[number]?.isOverdue = true } }

    /// Cancels a task.
    ///
    /// Foundation on Linux crashes if a task is cancelled between a redirect and the reply of the delegate. Therefore a
    /// task is cancelled either before the delegate sees the redirect, and then the delegate does not reply, or shortly
    /// after the reply.
    func cancel(_ task: URLSessionTask) {
        let hasReplied = state.withLock { state in
            state.cancelled.insert(task.taskIdentifier)
            return state.redirected.contains(task.taskIdentifier)
        }
        guard hasReplied else { return task.cancel() }
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(100)) { task.cancel() }
    }

    /// Follows no redirect: the sender decides, because the new request may not contain the token.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isCancelled = state.withLock { state in
            if state.cancelled.contains(task.taskIdentifier) { return true }
            state.redirected.insert(task.taskIdentifier)
            return false
        }
        if !isCancelled { completionHandler(nil) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = state.withLock { state in
            guard var exchange = state.running.removeValue(forKey: dataTask.taskIdentifier) else { return true }
            if data.count > exchange.limit - exchange.body.count {
                exchange.isTooLarge = true
            } else {
                exchange.body.append(data)
            }
            state.running[dataTask.taskIdentifier] = exchange
            return exchange.isTooLarge
        }
        if isTooLarge { cancel(dataTask) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let ended = state.withLock { state -> Exchange? in
            state.cancelled.remove(task.taskIdentifier)
            state.redirected.remove(task.taskIdentifier)
            if let exchange = state.running.removeValue(forKey: task.taskIdentifier) { return exchange }
            let isCancelled = (error as? URLError).map { $0.code == .cancelled } ?? true
            state.earlyEnds[task.taskIdentifier] =
                isCancelled ? CancellationError() : Self.failure(error, task.originalRequest?.url?.host() ?? "")
            return nil
        }
        guard let exchange = ended else { return }
        let host = exchange.url.host() ?? ""
        if exchange.isOverdue {
            exchange.continuation.resume(
                throwing: HTTPTransportError(
                    .timedOut, host: host, reason: "The response was not complete within the time limit of the request."
                ))
        } else if exchange.isTooLarge {
            exchange.continuation.resume(
                throwing: HTTPTransportError(
                    .responseTooLarge, host: host,
                    reason: "The response has more than the \(exchange.limit) bytes that the request allows."))
        } else if let response = task.response as? HTTPURLResponse, error == nil {
            var fields = HTTPFields()
            let all = response.allHeaderFields.compactMap { name, value in
                (name as? String).map { ($0, "\(value)") }
            }
            for (name, value) in all.sorted(by: { $0.0 < $1.0 }) { fields.append(name: name, value: value) }
            exchange.continuation.resume(
                returning: HTTPResponse(
                    status: response.statusCode, fields: fields, body: exchange.body, url: response.url))
        } else if let code = (error as? URLError)?.code, code == .cancelled {
            exchange.continuation.resume(throwing: CancellationError())
        } else {
            exchange.continuation.resume(throwing: Self.failure(error, host))
        }
    }

    /// Returns the error without Foundation's description, which can contain the URL with its query.
    private static func failure(_ error: (any Error)?, _ host: String) -> HTTPTransportError {
        let (kind, reason): (HTTPTransportError.Kind, String) =
            switch (error as? URLError)?.code {
            case .timedOut?: (.timedOut, "The response was not complete in time.")
            case .cannotFindHost?, .dnsLookupFailed?: (.cannotResolveHost, "The host's name has no address.")
            case .cannotConnectToHost?, .notConnectedToInternet?: (.cannotConnect, "No server accepted the connection.")
            case .networkConnectionLost?, .badServerResponse?, .zeroByteResource?:
                (.connectionLost, "The connection ended before the response was complete.")
            case .secureConnectionFailed?, .serverCertificateUntrusted?, .serverCertificateHasBadDate?,
                .serverCertificateHasUnknownRoot?, .serverCertificateNotYetValid?:
                (.tls, "There is no secure connection, or the certificate is not trusted.")
            case .badURL?, .unsupportedURL?: (.invalidRequest, "The address cannot be sent to.")
            case let code?: (.other, "URLSession failed with code \(code.rawValue).")
            case nil: (.other, "URLSession returned no response.")
            }
        return HTTPTransportError(kind, host: host, reason: reason)
    }
}
