/// Why no answer came.
public struct HTTPTransportError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Kind: String, Sendable {
        /// The host's name has no address.
        case cannotResolveHost
        /// Nothing accepted the connection.
        case cannotConnect
        /// The connection ended before the answer did, or the answer was not HTTP.
        case connectionLost
        /// The answer was not complete in the request's time.
        case timedOut
        /// No secure connection: the certificate is not trusted, does not match, or no protocol is shared.
        case tls
        /// The proxy could not be reached or refused.
        case proxy
        /// The answer has more bytes than the request allows.
        case responseTooLarge
        /// A plain http address that is not this machine.
        case plainHTTPRefused
        /// A redirect that the policy does not allow.
        case redirectRefused
        /// The request cannot be sent: not http(s), a field with a line break, an unreadable CA file.
        case invalidRequest
        /// The response is not from the server but from a network that requires a sign-in, or from a proxy.
        case intercepted
        /// Anything else.
        case other
    }

    /// What kind of failure it was.
    public var kind: Kind
    /// The host that was asked, with its port where one was named.
    public var host: String
    /// What the system said, in words. No secrets.
    public var reason: String

    /// A failure of this kind.
    public init(_ kind: Kind, host: String, reason: String) {
        self.kind = kind
        self.host = host
        self.reason = reason
    }
}

extension HTTPTransportError: CustomStringConvertible {
    /// The host and the reason.
    public var description: String { host.isEmpty ? reason : "\(host): \(reason)" }
}
