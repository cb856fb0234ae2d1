import Dispatch
import Foundation
import HTTPExchange
import Synchronization

/// The delegate of a session: passes its reports to the transfers.
final class SessionExchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct State {
        var running: [Int: SessionTransfer] = [:]
        var cancelled: Set<Int> = []
        var redirected: Set<Int> = []
    }

    private let state = Mutex(State())
    /// Decides about the certificates of servers, and has the certificate of the client.
    let identity: SessionIdentity

    init(_ identity: SessionIdentity) { self.identity = identity }

    /// Starts a transfer.
    func start(_ transfer: SessionTransfer) {
        state.withLock { $0.running[transfer.task.taskIdentifier] = transfer }
        transfer.task.resume()
    }

    private func transfer(_ task: URLSessionTask) -> SessionTransfer? {
        state.withLock { $0.running[task.taskIdentifier] }
    }

    /// Cancels a task that has not ended.
    ///
    /// Foundation on Linux crashes if a task is cancelled between a redirect and the reply of the delegate. Therefore a
    /// task is cancelled either before the delegate sees the redirect, and then the delegate does not reply, or shortly
    /// after the reply.
    func cancel(_ task: URLSessionTask) {
        let (isRunning, hasReplied) = state.withLock { state in
            guard state.running[task.taskIdentifier] != nil else { return (false, false) }
            state.cancelled.insert(task.taskIdentifier)
            return (true, state.redirected.contains(task.taskIdentifier))
        }
        guard isRunning else { return }
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

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { transfer(dataTask)?.begin(response) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard let transfer = transfer(dataTask) else { return }
        // Foundation on Linux can report the data first.
        if let response = dataTask.response as? HTTPURLResponse { transfer.begin(response) }
        transfer.put(data)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(task)?.didSend(totalBytesSent)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let transfer = state.withLock { state in
            state.cancelled.remove(task.taskIdentifier)
            state.redirected.remove(task.taskIdentifier)
            return state.running.removeValue(forKey: task.taskIdentifier)
        }
        guard let transfer else { return }
        guard let error else {
            // A refused redirect has no other report of its response on Linux.
            if let response = task.response as? HTTPURLResponse { transfer.begin(response) }
            return transfer.end(.success(()))
        }
        if (error as? URLError)?.code == .cancelled {
            // The delegate cancels the connection if it does not trust the server.
            transfer.end(.failure(identity.refusal(transfer.url) ?? CancellationError()))
        } else {
            transfer.end(.failure(Self.failure(error, transfer.url.host() ?? "")))
        }
    }

    /// Returns the error without Foundation's description, which can contain the URL with its query.
    private static func failure(_ error: any Error, _ host: String) -> HTTPTransportError {
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
