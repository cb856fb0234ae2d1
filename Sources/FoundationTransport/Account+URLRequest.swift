import Foundation
import HTTPExchange
public import OAuth2Protocol
public import OAuth2AccountStore

extension Account {
    /// A request in this account's name: with its access token, renewed when need be, as a Bearer token or with a DPoP proof. Where the token
    /// may go, and what is thrown, is as with `AccountStore.sign(_:for:)`.
    ///
    /// Everything else of the request stays as it is, a body stream too. The token is good for the address of the request: `URLSession` may
    /// take the `Authorization` field along to where a redirect leads; `send(_:in:)` never does.
    ///
    /// - Throws: `AccountStoreError`; `HTTPTransportError` when the request has no address; `CancellationError`.
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

    /// Sends a request in this account's name, over the store's transport: renewed and sent again once after a 401, and without the token
    /// where a redirect leads to another origin.
    ///
    /// - Returns: The content and the answer, whatever its status.
    /// - Throws: what `AccountStore.send(_:for:)` throws.
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
            throw HTTPTransportError(.connectionLost, host: "", reason: "The answer cannot be described to Foundation.")
        }
        return (answer.body, response)
    }
}
