import LodgePlatform
import HTTPExchange
import JOSE

/// The request for a provider's signing keys, and the reader of the response.
///
/// OpenID Connect Core 1.0 section 10.1.1, [RFC 7517 section 5](https://www.rfc-editor.org/rfc/rfc7517#section-5)
package struct JWKSRequest: Sendable {
    /// The request to send. Redirects are not followed, and the response has at most 1 MiB.
    package let request: HTTPRequest

    /// Creates the request for a provider's keys.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if its metadata has no usable `jwks_uri`.
    package init(server: AuthorizationServer) throws(OAuth2Error) {
        let url = try server.endpoint("jwks_uri", missing: "the provider has no jwks_uri")
        var request = HTTPRequest(.get, url, fields: ["Accept": "application/jwk-set+json, application/json"])
        request.maximumResponseSize = JWKSet.maximumByteCount
        self.request = request
    }

    /// Reads the response. It omits keys that this client cannot use.
    ///
    /// - Throws: ``OAuth2Error/http(status:retryAfter:)``, or ``OAuth2Error/invalidResponse(member:reason:)`` if it is not a key
    ///   set.
    package static func read(_ response: HTTPResponse) throws(OAuth2Error) -> JWKSet {
        try EndpointResponse.checkStatus(response)
        let object = try ResponseObject(response, name: "the key set").members
        do throws(JOSEError) {
            return try JWKSet(object)
        } catch {
            throw .invalidResponse(member: "keys", reason: "the key set cannot be read: \(error)")
        }
    }
}

/// The keys of the last fetch, and the time of the next permitted fetch. Otherwise each token with an unknown key would
/// cause a request.
package struct JWKSCache: Sendable {
    /// The time in seconds that keys are used without another fetch.
    package static let lifetime: Double = 300
    /// The minimum time between two fetches, in seconds.
    package static let coolDown: Double = 60

    /// The keys, or `nil` before the first fetch.
    package private(set) var keys: JWKSet?
    private var fetchedAt: Double?
    private var triedAt: Double?

    /// Creates an empty cache.
    package init() {}

    /// Returns whether the keys are missing or older than ``lifetime``.
    ///
    /// - Parameter now: The time of a monotonic clock in seconds.
    package func isStale(now: Double) -> Bool {
        guard let fetchedAt else { return true }
        return now - fetchedAt >= Self.lifetime
    }

    /// Returns whether ``coolDown`` has passed since the last fetch.
    package func mayFetch(now: Double) -> Bool {
        guard let triedAt else { return true }
        return now - triedAt >= Self.coolDown
    }

    /// Records the start of a fetch.
    package mutating func fetchBegan(now: Double) { triedAt = now }

    /// Stores fetched keys.
    package mutating func store(_ keys: JWKSet, now: Double) {
        self.keys = keys
        fetchedAt = now
        triedAt = now
    }
}
