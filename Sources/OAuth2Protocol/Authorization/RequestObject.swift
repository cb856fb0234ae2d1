import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

extension AuthorizationRequest {
    /// The lifetime of a signed request in seconds.
    static let signedRequestLifetime: Int64 = 300

    /// Creates a request with its parameters in a JWT that the client signs, so that the browser cannot change them.
    ///
    /// [RFC 9101](https://www.rfc-editor.org/rfc/rfc9101)
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider has no issuer or authorization endpoint, a parameter
    ///   is invalid, or the key cannot sign; any error that `random` throws.
    package init(
        signedWith key: SigningKey, server: AuthorizationServer, client: Client, pending: PendingAuthorization,
        options: Options = .init(), now: Double, random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws {
        try Self.checkPushing(server)
        let object = try Self.requestObject(
            try Self.pairs(server: server, pending: pending, options: options), signedWith: key, server: server,
            client: client, now: now, random: random)
        try self.init(
            [("client_id", client.id), ("request", object)], server: server, pending: pending)
    }

    /// Returns the parameters of a request as a JWT.
    static func requestObject(
        _ pairs: [FormEncoding.Pair], signedWith key: SigningKey, server: AuthorizationServer, client: Client,
        now: Double, random: (Int) throws -> [UInt8]
    ) throws -> String {
        guard let issuer = server.issuer else {
            throw OAuth2Error.configuration("the provider has no issuer for the audience of the signed request")
        }
        // The client is the issuer. With a subject, the JWT could be used as a client assertion (section 10.8).
        var claims: JSONObject = [
            "iss": .string(client.id), "aud": .string(issuer), "client_id": .string(client.id),
        ]
        for (name, value) in pairs {
            claims[name] = Self.claim(name, value, besides: claims[name])
        }
        return try JWT.issue(
            "the authorization request", claims, lifetime: signedRequestLifetime, key: key.key,
            algorithm: key.algorithm, header: ["typ": "oauth-authz-req+jwt"], now: now, random: random)
    }

    /// Returns a parameter as a claim: numbers and JSON as such, a repeated parameter as an array.
    private static func claim(_ name: String, _ value: String, besides existing: JSONValue?) -> JSONValue {
        let own: JSONValue =
            switch name {
            case "max_age", "claims", "authorization_details": (try? JSONValue(parsing: value)) ?? .string(value)
            default: .string(value)
            }
        switch existing {
        case nil: return own
        case .array(let elements)?: return .array(elements + [own])
        case let first?: return .array([first, own])
        }
    }
}
