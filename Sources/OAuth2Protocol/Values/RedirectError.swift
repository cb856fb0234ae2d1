import LodgePlatform

/// The reason why a redirect is rejected.
public struct RedirectError: Error, Sendable, Equatable {
    /// The check that failed.
    public let kind: Kind
    /// The rejected value, if the check compares one. A state or a code is never part of it.
    package let evidence: Evidence?
    /// The error that the rejected redirect reports, if it has the state of the sign-in: then the sign-in is over.
    public let provider: ProviderError?

    /// A Boolean value that indicates whether the sign-in is over.
    ///
    /// A redirect with the state of the sign-in and without its issuer comes from a mix-up attack, or from a provider
    /// that contradicts its metadata. No other response will arrive. To send it, an attacker has to know the state, and
    /// then could end the sign-in with an error too.
    ///
    /// [RFC 9207 section 2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)
    public var endsSignIn: Bool { provider != nil || kind == .issuerMismatch || kind == .issuerMissing }

    /// Creates an error for a failed check.
    package init(_ kind: Kind, _ evidence: Evidence? = nil, provider: ProviderError? = nil) {
        self.kind = kind
        self.evidence = evidence
        self.provider = provider
    }

    /// The state belongs to no pending sign-in.
    public static let stateMismatch = RedirectError(.stateMismatch, Evidence("state"))
    /// The state belongs to a different sign-in than the expected one.
    public static let differentSignIn = RedirectError(.differentSignIn, Evidence("state"))
    /// The sign-in is finished, cancelled or expired.
    public static let noPendingRequest = RedirectError(.noPendingRequest)

    /// The checks of a redirect.
    public enum Kind: String, Sendable {
        /// The URL differs from the redirect URI of the sign-in.
        case redirectURIMismatch = "redirect_uri_mismatch"
        /// Invalid percent-encoding, or characters that a code cannot contain.
        case malformed
        /// Larger than 64 KiB.
        case tooLarge = "too_large"
        /// A parameter appears twice.
        case duplicateParameter = "duplicate_parameter"
        /// No state.
        case stateMissing = "state_missing"
        /// The state of no pending sign-in.
        case stateMismatch = "state_mismatch"
        /// The state of a different sign-in than the expected one.
        case differentSignIn = "different_sign_in"
        /// The issuer is different (RFC 9207).
        case issuerMismatch = "iss_mismatch"
        /// The provider announces the issuer in redirects but did not send it (RFC 9207).
        case issuerMissing = "iss_missing"
        /// Neither a code nor an error.
        case codeMissing = "code_missing"
        /// A token in a redirect that may contain only a code.
        case unexpectedParameter = "unexpected_parameter"
        /// The sign-in is finished, cancelled or too old.
        case noPendingRequest = "no_pending_request"
    }

    /// The reason, with the expected and the received value.
    public var explanation: String { evidence.map { "\(reason) (\($0))" } ?? reason }

    private var reason: String {
        switch kind {
        case .redirectURIMismatch: "the URL is not the redirect URI of this sign-in"
        case .malformed: "the URL is malformed"
        case .tooLarge: "the URL is too long"
        case .duplicateParameter: "a parameter appears twice"
        case .stateMissing: "the state is missing"
        case .stateMismatch: "the state does not match a pending sign-in"
        case .differentSignIn: "it belongs to a different sign-in"
        case .issuerMismatch: "it comes from a different issuer"
        case .issuerMissing: "the issuer is missing although this provider announces it"
        case .codeMissing: "it contains neither a code nor an error"
        case .unexpectedParameter: "it contains a token, which was not requested"
        case .noPendingRequest: "no sign-in is waiting for it"
        }
    }
}

extension RedirectError: LocalizedError {
    /// The error in a sentence, for an alert.
    public var errorDescription: String? { "The redirect was rejected." }
    /// The reason in a sentence.
    public var failureReason: String? { explanation.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? { "Start the sign-in again." }
}
