import HTTPExchange
import StrictJSON

@testable import OAuth2Protocol

/// Returns the decoded parameters of an authorization request's URL.
func query(_ request: AuthorizationRequest) -> [String: [String]] { parameters(request.url.absoluteString) }

/// Returns the decoded query parameters of a URL.
func parameters(_ address: String) -> [String: [String]] {
    let query = address.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    return grouped(FormEncoding.decode(query) ?? [])
}

/// Returns the decoded form in a request's body.
func form(_ request: HTTPRequest) -> [String: [String]] {
    grouped(FormEncoding.decode(String(decoding: request.body ?? .init(), as: UTF8.self)) ?? [])
}

private func grouped(_ pairs: [FormEncoding.Pair]) -> [String: [String]] {
    Dictionary(grouping: pairs, by: \.name).mapValues { $0.map(\.value) }
}

extension HTTPResponse {
    static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: .init(value.serialized()))
    }
}
