import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// The outcome of a step, as the vectors describe it.
enum Outcome: Equatable {
    case invalidResponse(String)
    case unsupportedTokenType(String)
    case oauthError(String, status: Int?)
    case httpError(Int)
    case redirect(String)
    case configuration
    case other(String)

    init(_ error: any Error) {
        switch error as? OAuth2Error {
        case .provider(let error): self = .oauthError(error.code.rawValue, status: error.status)
        case .http(let status, _): self = .httpError(status)
        case .invalidResponse(let member, _): self = .invalidResponse(member)
        case .unsupportedTokenType(let type): self = .unsupportedTokenType(type)
        case .redirect(let rejection): self = .redirect(rejection.kind.rawValue)
        case .configuration: self = .configuration
        case .idToken(let rejection): self = .invalidResponse(rejection.kind.rawValue)
        case nil: self = .other("\(error)")
        }
    }

    /// Creates the failure that a case expects, or `nil` if it expects none.
    init?(expected expect: JSONObject) {
        switch expect["outcome"]?.string {
        case "invalid_response", "rejected": self = .invalidResponse(expect["reason"]?.string ?? "")
        case "unsupported_token_type": self = .unsupportedTokenType(expect["token_type"]?.string ?? "")
        case "oauth_error":
            let error = expect["error"]?.object
            self = .oauthError(error?["code"]?.string ?? "", status: error?.int("http_status"))
        case "http_error": self = .httpError(expect.int("status") ?? 0)
        case "reject": self = .redirect(expect["reason"]?.string ?? "")
        case "usage_error", "configuration_error", "not_supported", "refused": self = .configuration
        default: return nil
        }
    }
}

/// Checks that an error equals the error that a case expects, with all its details.
func expectFailure(_ error: any Error, _ expect: JSONObject, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let expected = Outcome(expected: expect) else {
        Issue.record(
            "failed with \(error), expected \(expect["outcome"]?.string ?? "nothing")", sourceLocation: sourceLocation)
        return
    }
    #expect(Outcome(error) == expected, sourceLocation: sourceLocation)
    if case .provider(let provider) = error as? OAuth2Error, let wanted = expect["error"]?.object {
        #expect(provider.explanation == wanted["description"]?.string, sourceLocation: sourceLocation)
        #expect(provider.uri == wanted["uri"]?.string, sourceLocation: sourceLocation)
    }
    let shown = "\(error)" + String(reflecting: error)
    for forbidden in (expect.texts("display_must_not_contain") ?? []) + (expect.texts("log_must_not_contain") ?? []) {
        #expect(!shown.contains(forbidden), sourceLocation: sourceLocation)
    }
    if let isForbidden = expect["must_not_open_uri"]?.bool, case .provider(let provider) = error as? OAuth2Error {
        expectNoLink(provider, isForbidden, sourceLocation: sourceLocation)
    }
    if let seconds = expect.int("retry_after") {
        #expect((error as? OAuth2Error)?.retryAfter == .seconds(seconds), sourceLocation: sourceLocation)
    }
    if let transient = expect["transient"]?.bool {
        #expect((error as? OAuth2Error)?.isTransient == transient, sourceLocation: sourceLocation)
    }
}

/// Checks that the description of an error omits its URI, because a terminal could open it.
func expectNoLink(_ error: ProviderError, _ isForbidden: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(error.uri?.hasPrefix("javascript:") == true, sourceLocation: sourceLocation)
    #expect(!"\(error)".contains("javascript:") == isForbidden, sourceLocation: sourceLocation)
}
