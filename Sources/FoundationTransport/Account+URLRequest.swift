import Foundation
import HTTPExchange
public import OAuth2Protocol
public import OAuth2AccountStore

extension Account {
    /// Returns the request with an access token of this account, as a Bearer token or with a DPoP proof.
    ///
    /// Refreshes the token if necessary.
    ///
    /// The rules for the URL and the errors are the same as for `AccountStore.sign(_:for:)`. The other parts of the
    /// request do not change. If a redirect goes to another origin, `URLSession` may send the `Authorization` field
    /// there; `send(_:in:)` never does.
    ///
    /// - Throws: `AccountStoreError`; `HTTPTransportError` if the request has no URL; `CancellationError`.
    public func sign(
        _ request: URLRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> URLRequest {
        var bare = request
        bare.httpBodyStream = nil
        bare.httpBody = nil
        let signed = try await sign(try HTTPRequest(bare), in: store, scopes: scopes, resource: resource)
        var result = request
        for name in ["Authorization", "DPoP"] { result.setValue(signed.fields[name], forHTTPHeaderField: name) }
        return result
    }

    /// Sends a request of this account over the store's transport. After a 401, refreshes the token and retries once.
    ///
    /// After a redirect to another origin, the request has no token.
    ///
    /// - Returns: The content and the response, with any status.
    /// - Throws: The errors of `AccountStore.send(_:for:)`.
    public func send(
        _ request: URLRequest, in store: AccountStore, scopes: Scope? = nil, resource: String? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let answer = try await send(try HTTPRequest(request), in: store, scopes: scopes, resource: resource)
        var fields: [String: String] = [:]
        for field in answer.fields {
            fields[field.name] = fields[field.name].map { "\($0), \(field.value)" } ?? field.value
        }
        guard let url = answer.url ?? request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: answer.status, httpVersion: "HTTP/1.1", headerFields: fields)
        else {
            throw HTTPTransportError(.connectionLost, host: "", reason: "Foundation cannot represent the response.")
        }
        return (answer.body, response)
    }
}
