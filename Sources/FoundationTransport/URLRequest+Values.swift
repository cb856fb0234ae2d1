import Foundation
public import HTTPExchange

extension HTTPRequest {
    /// The request that a `URLRequest` describes: method, address, header fields, content and time limit, where that is more than 0.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` when it has no address, or a body stream, which can be read only once:
    ///   give such a content as `HTTPBody.chunks`.
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
        // A dictionary has no order: sorted, so that the same request is the same bytes.
        for (name, value) in (request.allHTTPHeaderFields ?? [:]).sorted(by: { $0.key < $1.key }) {
            fields.append(name: name, value: value)
        }
        // 0, and what is no number, are no limit that was meant; the longest is some thirty years.
        if request.timeoutInterval > 0 { timeout = .seconds(min(request.timeoutInterval, 1e9)) }
        redirects = .follow(limit: 16)
    }
}

extension URLRequest {
    /// The request of these values. It keeps no cookies and asks no cache.
    ///
    /// - Throws: `HTTPTransportError` of the kind `invalidRequest` when the content is not in memory: a file or chunks.
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
                reason: "The content of the request is not in memory; send it with CurlTransport.")
        }
        httpBody = bytes
    }
}
