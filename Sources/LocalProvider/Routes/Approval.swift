import LodgePlatform
import HTTPExchange

/// A simulation of the user and the browser.
///
/// It opens the sign-in page of a ``LoopbackProvider``, submits the form, and follows the redirect to the application.
///
/// For demonstrations and tests. It connects only to loopback addresses.
public struct Approval: Sendable {
    /// The user principal name or mail address for signing in, or `nil` for the user that the page suggests.
    public var userPrincipalName: String?

    /// Creates an approval by this user, or by the user that the page suggests.
    public init(as userPrincipalName: String? = nil) { self.userPrincipalName = userPrincipalName }

    /// Approves the request of an authorization URL and returns the response of the application's redirect URI.
    ///
    /// - Throws: ``ApprovalError`` if the provider returns no form or redirects to a URL that is not on loopback; the
    ///   errors of the transport.
    @discardableResult
    public func approve(_ authorizationURL: URL, transport: any HTTPTransport) async throws -> HTTPResponse {
        try await decide("approve", authorizationURL, transport)
    }

    /// Denies the request of an authorization URL and returns the response of the application's redirect URI.
    ///
    /// - Throws: The same errors as ``approve(_:transport:)``.
    @discardableResult
    public func deny(_ authorizationURL: URL, transport: any HTTPTransport) async throws -> HTTPResponse {
        try await decide("deny", authorizationURL, transport)
    }

    /// Approves the request and returns the redirect without following it.
    ///
    /// For an application without a listener at its redirect URI.
    ///
    /// - Throws: The same errors as ``approve(_:transport:)``.
    public func redirect(approving authorizationURL: URL, transport: any HTTPTransport) async throws -> URL {
        try await destination("approve", authorizationURL, transport)
    }

    /// Approves the device of a verification URL that contains the user code (RFC 8628 section 3.3.1).
    ///
    /// - Throws: ``ApprovalError`` if the provider returns no form or no device waits with the code; the errors of the
    ///   transport.
    public func approveDevice(_ verificationURLComplete: URL, transport: any HTTPTransport) async throws {
        try await decideDevice("approve", verificationURLComplete, transport)
    }

    /// Denies the device of a verification URL that contains the user code.
    ///
    /// - Throws: The same errors as ``approveDevice(_:transport:)``.
    public func denyDevice(_ verificationURLComplete: URL, transport: any HTTPTransport) async throws {
        try await decideDevice("deny", verificationURLComplete, transport)
    }

    private func decideDevice(_ decision: String, _ url: URL, _ transport: any HTTPTransport) async throws {
        let (_, response) = try await submit(decision, url, transport)
        guard response.status == 200, SignInForm.alert(response) == nil else { throw ApprovalError(response) }
    }

    private func decide(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> HTTPResponse {
        let destination = try await destination(decision, authorizationURL, transport)
        guard destination.isLoopback, destination.scheme == "http" else {
            throw ApprovalError(reason: "the redirect goes to \(destination.addressWithoutQuery), not to this machine")
        }
        return try await transport.send(HTTPRequest(.get, destination))
    }

    /// Opens the page and submits its form.
    ///
    /// Returns the form's URL and the response, or the response to the page itself if it is a redirect.
    private func submit(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> (URL, HTTPResponse) {
        guard authorizationURL.isLoopback else {
            throw ApprovalError(reason: "the authorization URL is not on this machine")
        }
        let page = try await transport.send(HTTPRequest(.get, authorizationURL))
        if Self.location(page, from: authorizationURL) != nil { return (authorizationURL, page) }
        guard page.status == 200, let form = SignInForm(page: String(decoding: page.body, as: UTF8.self)),
            let action = URL(string: form.action, relativeTo: authorizationURL)?.absoluteURL, action.isLoopback
        else {
            throw ApprovalError(page, " without a sign-in form")
        }
        var fields = form.fields
        if let userPrincipalName { fields.set("upn", userPrincipalName) }
        fields.set("decision", decision)
        let post = HTTPRequest(
            .post, action, fields: ["Content-Type": "application/x-www-form-urlencoded"],
            body: Data(fields.encoded.utf8))
        return (action, try await transport.send(post))
    }

    private func destination(
        _ decision: String, _ authorizationURL: URL, _ transport: any HTTPTransport
    ) async throws -> URL {
        let (action, response) = try await submit(decision, authorizationURL, transport)
        guard let location = Self.location(response, from: action) else {
            throw ApprovalError(response, " instead of a redirect")
        }
        return location
    }

    private static func location(_ response: HTTPResponse, from url: URL) -> URL? {
        guard (300..<400).contains(response.status), let text = response.fields["Location"] else { return nil }
        return URL(string: text, relativeTo: url)?.absoluteURL
    }
}

/// The reason why an ``Approval`` failed.
public struct ApprovalError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason, without codes and tokens.
    public let reason: String

    /// The reason.
    public var description: String { "no sign-in at the local provider: \(reason)" }
}

extension ApprovalError {
    /// Creates an error for an unexpected response, with the page's alert.
    fileprivate init(_ response: HTTPResponse, _ circumstance: String = "") {
        let alert = SignInForm.alert(response).map { ": \($0)" } ?? ""
        reason = "the provider responded with \(response.status)\(circumstance)\(alert)"
    }
}

/// The form on the sign-in page, with the fields that a browser sends for the unchanged form.
struct SignInForm {
    var action = ""
    var fields = FormFields()

    init?(page: String) {
        var isInForm = false
        for tag in Self.tags(page) {
            switch tag.name {
            case "form":
                isInForm = true
                action = tag.attributes["action"] ?? ""
            case "input":
                guard isInForm, let name = tag.attributes["name"] else { continue }
                let type = tag.attributes["type"] ?? "text"
                if type == "hidden" || type == "text" || type == "radio" && tag.attributes["checked"] != nil {
                    fields.append(name, tag.attributes["value"] ?? "")
                }
            default: continue
            }
        }
        guard isInForm else { return nil }
    }

    static func alert(_ response: HTTPResponse) -> String? {
        let page = String(decoding: response.body, as: UTF8.self)
        return page.firstMatch(of: /role="alert"[^>]*>([^<]*)/).map { unescaped($0.1) }
    }

    private static func tags(_ page: String) -> [(name: String, attributes: [String: String])] {
        page.matches(of: /<([a-zA-Z0-9]+)([^>]*)>/).map { tag in
            let attributes = tag.2.matches(of: /([^\s="]+)(?:="([^"]*)")?/)
                .map { ($0.1.lowercased(), unescaped($0.2 ?? "")) }
            return (tag.1.lowercased(), Dictionary(attributes) { $1 })
        }
    }

    private static func unescaped(_ text: Substring) -> String {
        String(text).replacing(/&[^&;]*;/) { entity in
            ProviderState.entities.first { $0.value == entity.0 }.map { String($0.key) } ?? String(entity.0)
        }
    }
}

extension ApprovalError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "Cannot sign in at the local provider." }
    /// The reason in a sentence.
    public var failureReason: String? { reason.sentence }
}
