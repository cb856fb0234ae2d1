import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

/// Proofs that the sender of a token has the key to which the token is bound.
///
/// [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
package enum DPoP {
    /// Returns the request with a new proof in its `DPoP` field and, for a resource, the token in its `Authorization` field.
    ///
    /// Every request needs a new proof, even a repeated one.
    ///
    /// - Parameters:
    ///   - accessToken: The token for a resource; `nil` at the token endpoint.
    ///   - nonce: The server's last nonce.
    ///   - now: Seconds since 1970.
    ///   - random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the URL is not https or the proof cannot be signed; any error
    ///   that `random` throws.
    package static func signed(
        _ request: HTTPRequest, key: SigningKey, accessToken: Secret? = nil, nonce: String? = nil, now: Double,
        allowsLoopbackHTTP: Bool = false, random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws -> HTTPRequest {
        var request = request
        if let accessToken {
            request = try ResourceRequest.authorized(
                request, accessToken: accessToken, allowsLoopbackHTTP: allowsLoopbackHTTP)
            request.fields["Authorization"] = "DPoP " + accessToken.value
        }
        request.fields["DPoP"] =
            try proof(
                method: request.method, url: request.url, key: key, accessToken: accessToken, nonce: nonce, now: now,
                random: random
            ).value
        return request
    }

    /// Returns a proof for one request (section 4.2).
    static func proof(
        method: HTTPMethod, url: URL, key: SigningKey, accessToken: Secret?, nonce: String?, now: Double,
        random: (Int) throws -> [UInt8]
    ) throws -> Secret {
        guard let target = target(url) else {
            throw OAuth2Error.configuration("cannot create a proof for the URL \(url.addressWithoutQuery)")
        }
        var claims: JSONObject = ["htm": .string(method.rawValue), "htu": .string(target)]
        if let accessToken { claims["ath"] = .string(hash(of: accessToken)) }
        if let nonce { claims["nonce"] = .string(nonce) }
        // The header contains the public members of the key, without its key ID.
        var signer = key.key
        signer.keyID = nil
        var publicKey = key.key.publicJSON
        for name in ["kid", "use", "key_ops", "alg"] { publicKey[name] = nil }
        return Secret(
            try JWT.issue(
                "the DPoP proof", claims, key: signer, algorithm: key.algorithm,
                header: ["typ": "dpop+jwt", "jwk": .object(publicKey)], now: now, random: random))
    }

    /// Returns the `ath` claim: BASE64URL(SHA256(token)).
    static func hash(of token: Secret) -> String { Base64URL.encode(SHA2.sha256.digest(Array(token.value.utf8))) }

    /// Returns the `htu` claim: the URL without query and fragment, host in lower case, without default port and dot segments.
    static func target(_ url: URL) -> String? {
        guard let scheme = url.scheme?.lowercased(), let host = url.host(percentEncoded: true)?.lowercased(),
            !host.isEmpty
        else { return nil }
        let isDefaultPort = (scheme == "https" && url.port == 443) || (scheme == "http" && url.port == 80)
        let port = isDefaultPort ? "" : url.port.map { ":\($0)" } ?? ""
        let isIPv6 = host.contains(":") && !host.hasPrefix("[")
        var segments: [Substring] = []
        let path = url.path(percentEncoded: true)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            switch part {
            case ".": if isLast { segments.append("") }
            case "..":
                _ = segments.popLast()
                if isLast { segments.append("") }
            default: segments.append(part)
            }
        }
        return "\(scheme)://\(isIPv6 ? "[\(host)]" : host)\(port)/" + segments.joined(separator: "/")
    }

    /// Returns the nonce for the one retry of a token request, if the response requires one.
    /// For resources, see ``ResourceResponse``.
    package static func retryNonce(after response: HTTPResponse, isRetry: Bool) -> String? {
        guard !isRetry, let nonce = response.fields["DPoP-Nonce"], !nonce.isEmpty, response.status >= 400,
            let object = (try? JSONValue(parsing: response.body))?.object,
            object.text("error") == ErrorCode.useDPoPNonce.rawValue
        else { return nil }
        return nonce
    }
}

/// The nonces of servers, each only for its origin: a resource never receives the nonce of the token endpoint.
///
/// [RFC 9449 sections 8.2 and 9](https://www.rfc-editor.org/rfc/rfc9449#section-8.2)
package struct DPoPNonces: Sendable, Equatable {
    /// The maximum number of origins. The least recently used origin is removed first.
    package static let capacity = 32
    /// The maximum size of a saved nonce in bytes.
    static let maximumSize = 1024

    private var entries: [(origin: String, nonce: String)] = []

    /// Creates an empty list.
    package init() {}

    /// Returns the last nonce of this URL's server.
    package func nonce(for url: URL) -> String? {
        let origin = Self.origin(url)
        return entries.last { $0.origin == origin }?.nonce
    }

    /// Saves the nonce of a response with any status.
    package mutating func note(_ response: HTTPResponse, from url: URL) {
        guard let nonce = response.fields["DPoP-Nonce"], !nonce.isEmpty, nonce.utf8.count <= Self.maximumSize else {
            return
        }
        let origin = Self.origin(url)
        entries.removeAll { $0.origin == origin }
        entries.append((origin, nonce))
        if entries.count > Self.capacity { entries.removeFirst() }
    }

    private static func origin(_ url: URL) -> String {
        let text = DPoP.target(url) ?? url.addressWithoutQuery
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.prefix(3).joined(separator: "/")
    }

    /// Returns whether both have the same nonces in the same order.
    package static func == (left: DPoPNonces, right: DPoPNonces) -> Bool {
        left.entries.elementsEqual(right.entries, by: ==)
    }
}
