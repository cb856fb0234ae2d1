import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

/// The redirect that ends the user's part of a sign-in.
///
/// [RFC 6749 section 4.1.2](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2),
/// [RFC 9207](https://www.rfc-editor.org/rfc/rfc9207)
package struct AuthorizationResponse: Sendable {
    /// The maximum size of a redirect, in bytes.
    package static let maximumSize = 64 * 1024

    let address: String
    let parameters: [FormEncoding.Pair]

    init(address: String, parameters: [FormEncoding.Pair]) {
        self.address = address
        self.parameters = parameters
    }

    /// Creates a response from a received redirect. It reads only the query, because a fragment contains no code.
    ///
    /// - Throws: ``OAuth2Error/redirect(_:)`` if it is too large or its percent-encoding is broken.
    package init(redirect address: String) throws(OAuth2Error) {
        guard address.utf8.count <= Self.maximumSize else {
            throw Self.rejected(.tooLarge, "size", "at most \(Self.maximumSize) bytes", "\(address.utf8.count) bytes")
        }
        // Compare bytes: a combining character after a separator would form one Character with it.
        let beforeFragment = Substring(address.utf8.prefix { $0 != UInt8(ascii: "#") })
        let mark = beforeFragment.utf8.firstIndex(of: UInt8(ascii: "?"))
        let query = mark.map { beforeFragment[beforeFragment.utf8.index(after: $0)...] } ?? ""
        guard let parameters = FormEncoding.decode(query) else { throw Self.rejected(.malformed, "query") }
        self.address = String(beforeFragment)
        self.parameters = parameters
    }

    /// The state, which identifies the sign-in; `nil` if it is missing, empty or a duplicate.
    package var state: String? {
        let values = parameters.filter { $0.name == "state" }
        return values.count == 1 ? nonEmpty(values[0].value) : nil
    }

    private func nonEmpty(_ text: String?) -> String? { text?.isEmpty == false ? text : nil }

    private func value(_ name: String) -> String? { nonEmpty(parameters.first { $0.name == name }?.value) }

    /// The provider's error, if the redirect reports one.
    package var providerError: ProviderError? {
        value("error").map {
            ProviderError(
                code: ErrorCode(rawValue: $0), explanation: value("error_description"), uri: value("error_uri"))
        }
    }

    /// The issuer in the redirect; `nil` if it is missing, empty or a duplicate.
    package var issuer: String? {
        let values = parameters.filter { $0.name == "iss" }
        return values.count == 1 ? nonEmpty(values[0].value) : nil
    }

    /// Whether the redirect has a state, even if it is empty or a duplicate.
    package var hasState: Bool { parameters.contains { $0.name == "state" } }

    /// Returns the code, if this is the response to the sign-in.
    ///
    /// An error response needs no issuer, although RFC 9207 section 2.4 requires it: an error is useless to an
    /// attacker, and django-oauth-toolkit announces the issuer but omits it in errors.
    ///
    /// - Throws: ``OAuth2Error/redirect(_:)`` if it is not. The sign-in then continues to wait, unless the error
    ///   ``RedirectError/endsSignIn``. Throws ``OAuth2Error/provider(_:)`` if the provider denied the request, which
    ///   ends the sign-in.
    package func code(for pending: PendingAuthorization) throws(OAuth2Error) -> Secret {
        guard pending.redirectURI.matches(address) else {
            throw Self.rejected(
                .redirectURIMismatch, "redirect_uri", quoted(pending.redirectURI.text), quoted(description))
        }
        for name in ["state", "code", "iss", "error"] where parameters.filter({ $0.name == name }).count > 1 {
            throw Self.rejected(.duplicateParameter, name)
        }
        guard let state = value("state") else { throw Self.rejected(.stateMissing, "state") }
        guard equalInConstantTime(Array(state.utf8), Array(pending.state.utf8)) else { throw .redirect(.stateMismatch) }
        if let issuer = value("iss") {
            // Compared as strings, byte by byte: no normalization of host, port or slash (RFC 9207 section 2.4). If the
            // settings of the provider contain only endpoints, there is no issuer to compare with.
            if let expected = pending.issuer, !Self.isIssuer(issuer, of: expected) {
                throw Self.rejected(
                    .issuerMismatch, "iss", Evidence.visible(.string(expected)), quoted(issuer),
                    provider: providerError)
            }
        } else if pending.expectsIssuer, providerError == nil {
            throw Self.rejected(
                .issuerMissing, "iss", Evidence.visible(pending.issuer.map(JSONValue.string)), "nothing")
        }
        if let providerError { throw .provider(providerError) }
        guard value("id_token") == nil else { throw Self.rejected(.unexpectedParameter, "id_token") }
        guard let code = value("code") else { throw Self.rejected(.codeMissing, "code") }
        guard code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { throw Self.rejected(.malformed, "code") }
        return Secret(code)
    }

    static func rejected(
        _ kind: RedirectError.Kind, _ name: String, _ expected: String? = nil, _ received: String? = nil,
        provider: ProviderError? = nil
    ) -> OAuth2Error {
        .redirect(RedirectError(kind, Evidence(name, expected: expected, received: received), provider: provider))
    }

    /// Returns whether an issuer is the expected one, byte by byte.
    ///
    /// Entra's shared tenants announce an issuer that contains `{tenantid}`, and send the issuer of the tenant.
    package static func isIssuer(_ issuer: String, of expected: String) -> Bool {
        guard let hole = expected.firstRange(of: "{tenantid}") else { return bytesEqual(issuer, expected) }
        let head = expected[..<hole.lowerBound], tail = expected[hole.upperBound...]
        guard issuer.hasPrefix(head), issuer.hasSuffix(tail), issuer.utf8.count > head.utf8.count + tail.utf8.count
        else {
            return false
        }
        let tenant = issuer.utf8.dropFirst(head.utf8.count).dropLast(tail.utf8.count)
        return tenant.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20) || $0 == 0x2D }
    }
}

extension AuthorizationResponse: Redacted {
    /// The redirect without its query.
    package var description: String { String(Substring(address.utf8.prefix { $0 != UInt8(ascii: "?") })) }
}
