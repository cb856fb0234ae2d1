import Foundation
import HTTPTransport
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The exchanges of a session that are under way, and what came of each so far.
final class SessionExchanges: NSObject, URLSessionDataDelegate, Sendable {
    private struct Exchange {
        let limit: Int
        let url: URL
        let continuation: CheckedContinuation<HTTPResponse, any Error>
        var body = Data()
        var isTooLarge = false
    }

    private let running = Mutex<[Int: Exchange]>([:])

    func begin(
        _ number: Int, limit: Int, _ url: URL, _ continuation: CheckedContinuation<HTTPResponse, any Error>
    ) {
        running.withLock { $0[number] = Exchange(limit: max(0, limit), url: url, continuation: continuation) }
    }

    /// No redirect is followed here: who sent the request decides, and the token does not go along unseen.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = running.withLock { running in
            guard var exchange = running.removeValue(forKey: dataTask.taskIdentifier) else { return true }
            if data.count > exchange.limit - exchange.body.count {
                exchange.isTooLarge = true
            } else {
                exchange.body.append(data)
            }
            running[dataTask.taskIdentifier] = exchange
            return exchange.isTooLarge
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = running.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        let host = exchange.url.host() ?? ""
        if exchange.isTooLarge {
            exchange.continuation.resume(
                throwing: HTTPTransportError(
                    .responseTooLarge, host: host,
                    reason: "The answer has more than the \(exchange.limit) bytes that are allowed."))
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

    /// The failure in the words of this package. Foundation's own description may repeat the whole address, query included.
    private static func failure(_ error: (any Error)?, _ host: String) -> HTTPTransportError {
        let (kind, reason): (HTTPTransportError.Kind, String) =
            switch (error as? URLError)?.code {
            case .timedOut?: (.timedOut, "The answer was not complete in time.")
            case .cannotFindHost?, .dnsLookupFailed?: (.cannotResolveHost, "The host's name has no address.")
            case .cannotConnectToHost?, .notConnectedToInternet?: (.cannotConnect, "Nothing accepted the connection.")
            case .networkConnectionLost?, .badServerResponse?, .zeroByteResource?:
                (.connectionLost, "The connection ended before the answer did.")
            case .secureConnectionFailed?, .serverCertificateUntrusted?, .serverCertificateHasBadDate?,
                .serverCertificateHasUnknownRoot?, .serverCertificateNotYetValid?:
                (.tls, "There is no secure connection, or the certificate is not trusted.")
            case .badURL?, .unsupportedURL?: (.invalidRequest, "The address cannot be sent to.")
            case let code?: (.other, "URLSession failed with code \(code.rawValue).")
            case nil: (.other, "URLSession gave no answer.")
            }
        return HTTPTransportError(kind, host: host, reason: reason)
    }
}
