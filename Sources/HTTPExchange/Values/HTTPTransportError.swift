import LodgePlatform

/// The reason why there is no response.
public struct HTTPTransportError: Error, Sendable, Equatable {
    /// The kinds of errors.
    public enum Kind: String, Sendable {
        /// The host name cannot be resolved.
        case cannotResolveHost
        /// The connection failed.
        case cannotConnect
        /// The connection ended before the response was complete, or the response was not HTTP.
        case connectionLost
        /// The response was not complete within the time limit.
        case timedOut
        /// TLS failed: the certificate is not trusted or does not match, or there is no common protocol version.
        case tls
        /// The proxy is unreachable or rejected the request.
        case proxy
        /// The response exceeds the maximum size.
        case responseTooLarge
        /// The URL uses plain HTTP and is not loopback.
        case plainHTTPRefused
        /// The policy does not allow the redirect.
        case redirectRefused
        /// The request is invalid: not http(s), a field with a line break, an unreadable CA file.
        case invalidRequest
        /// The response is not from the server but from a network with a login page, or from a proxy.
        case intercepted
        /// Any other error.
        case other
    }

    /// The kind of error.
    public var kind: Kind
    /// The host of the request, with its port if the URL has one.
    public var host: String
    /// The explanation of the system. Contains no secrets.
    public var reason: String

    /// Creates an error of this kind.
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

extension HTTPTransportError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? {
        switch kind {
        case .invalidRequest, .plainHTTPRefused: "The request was not sent."
        case .responseTooLarge: "The response is too large."
        case .redirectRefused, .intercepted: "The response is not from the server."
        case .tls: "Cannot connect to the server securely."
        case .cannotResolveHost, .cannotConnect, .connectionLost, .timedOut, .proxy, .other:
            "The server did not respond."
        }
    }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
    /// The remedy in a sentence.
    public var recoverySuggestion: String? {
        switch kind {
        case .invalidRequest, .plainHTTPRefused, .responseTooLarge: nil
        case .redirectRefused, .intercepted:
            "If this network has a sign-in page, open a browser to get past it."
        case .tls: "Check the date and time of this device, and the network."
        case .proxy: "Check the proxy settings."
        case .cannotResolveHost, .cannotConnect, .connectionLost, .timedOut, .other:
            "Check the network connection, and try again."
        }
    }
}
