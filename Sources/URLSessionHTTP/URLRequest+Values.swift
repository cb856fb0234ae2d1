import Foundation
public import HTTPExchange

extension HTTPRequest {
    /// Creates a request from the method, URL, header fields and content of a `URLRequest`.
    ///
    /// The timeout applies too if it is more than 0.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` if it has no URL, or a body stream, which can be
    ///   read only once: pass such content as `HTTPBody.chunks`.
    public init(_ request: URLRequest) throws(HTTPTransportError) {
        guard let url = request.url else {
            throw HTTPTransportError(
                .invalidRequest, host: "", reason: "The request has no address; set its url.")
        }
        guard request.httpBodyStream == nil else {
            throw HTTPTransportError(
                .invalidRequest, host: url.host() ?? "",
                reason: "The content of the request is a stream, which cannot be sent again; set httpBody.")
        }
        self.init(HTTPMethod(rawValue: request.httpMethod ?? "GET"), url, body: request.httpBody)
        // A dictionary has no order. Sort the fields, so that equal requests have equal bytes.
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            fields.append(name: name, value: value)
        }
        // 0 or NaN means no timeout. The maximum is about 30 years.
        if request.timeoutInterval > 0 { timeout = .seconds(min(request.timeoutInterval, 1e9)) }
        redirects = .follow(limit: 16)
    }
}

extension URLRequest {
    /// Creates a `URLRequest` that stores no cookies and ignores caches.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` if the content is not in memory: a file or chunks.
    public init(_ request: HTTPRequest) throws(HTTPTransportError) {
        self.init(url: request.url, cachePolicy: .reloadIgnoringLocalCacheData)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        timeoutInterval = (request.ownTimeout ?? request.idleTimeout ?? request.timeout) / .seconds(1)
        for field in request.fields { addValue(field.value, forHTTPHeaderField: field.name) }
        guard let content = request.content else { return }
        guard let bytes = content.data else {
            throw HTTPTransportError(
                .invalidRequest, host: request.url.host() ?? "",
                reason: "The content of the request is not in memory; send it with URLSessionTransport.")
        }
        httpBody = bytes
    }
}
