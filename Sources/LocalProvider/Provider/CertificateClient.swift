import HTTPExchange
import JOSE
import LodgePlatform
import StrictJSON

// Clients that authenticate with a certificate, as at the token endpoint of Microsoft Entra.
extension ProviderState {
    private static let maximumLifetime = 86_400.0

    /// Returns a client after checking an assertion that a registered certificate signed.
    ///
    /// The errors have the numbers of Microsoft Entra.
    func client(certifying token: JWT?, _ client: LocalClient) throws(OAuthFailure) -> LocalClient {
        guard let token else {
            throw Self.rejection(
                50_027, "JWT token is invalid or malformed.", code: "invalid_request", status: 400)
        }
        let certificate = try certificate(of: token, client)
        guard let algorithm = token.algorithm, [.ps256, .rs256].contains(algorithm), let key = certificate.key,
            let claims = try? token.verified(with: key, algorithms: [algorithm]).claims
        else {
            throw Self.rejection(
                700_027, "Client assertion failed signature validation. [Reason - The signature is not of the key.]")
        }
        guard (try? claims.issuer) == client.id, (try? claims.subject) == client.id else {
            throw Self.rejection(
                700_021, "Client assertion application identifier doesn't match 'client_id' parameter.")
        }
        let audiences = (try? claims.audience) ?? []
        guard audiences.contains(where: [authority.url(of: "/token"), issuer].contains) else {
            throw Self.rejection(
                700_023, "Client assertion audience claim does not match Realm issuer. [\(authority.url(of: "/token"))]"
            )
        }
        try checkTimes(of: claims)
        guard certificate.isValid(at: digits(of: now)) else {
            throw Self.rejection(1_000_502, "The provided certificate is not within its specified validity period.")
        }
        guard let identifier = (try? claims.tokenID) ?? nil else {
            throw Self.rejection(50_027, "JWT token is invalid or malformed: it has no jti.")
        }
        let expiration = Int(((try? claims.expiration) ?? nil) ?? 0)
        let now = now
        let isNew = state.withLock { state in
            let key = "\(client.id) \(identifier)"
            if let end = state.grants.assertions[key], end > now { return false }
            state.grants.assertions[key] = expiration
            return true
        }
        guard isNew else { throw Self.rejection(50_027, "JWT token is invalid or malformed: jti was used before.") }
        return client
    }

    /// Returns the certificate that the header names: a registered one, or one with a chain to a registered authority.
    private func certificate(of token: JWT, _ client: LocalClient) throws(OAuthFailure) -> X509 {
        // MSAL for Python and azure-identity pad the thumbprints.
        func bytes(_ member: String) -> [UInt8]? {
            token.header[member]?.string.flatMap { Base64URL.decode($0.replacing("=", with: "")) }
        }
        let (sha256, sha1) = (bytes("x5t#S256"), bytes("x5t"))
        guard let thumbprint = sha256 ?? sha1 else {
            throw Self.rejection(
                50_027, "Invalid JWT token. No certificate thumbprint is specified in token header.",
                code: "invalid_request", status: 400)
        }
        func matches(_ certificate: X509) -> Bool {
            thumbprint == (sha256 == nil ? SHA1.digest(certificate.der) : SHA2.sha256.digest(certificate.der))
        }
        let chain = try chain(of: token)
        if let first = chain.first, !matches(first) {
            throw Self.rejection(700_027, "The first certificate of x5c does not have the thumbprint of the header.")
        }
        let certificates = client.certificates.flatMap(X509.certificates)
        if let registered = certificates.first(where: matches) { return registered }
        if let leaf = chain.first, let last = chain.last,
            certificates.contains(where: { $0.isAuthority && ($0 == last || $0.issued(last)) })
        {
            return leaf
        }
        throw Self.rejection(
            700_027,
            "The certificate with identifier used to sign the client assertion is not registered on application. "
                + "[Reason - The key was not found., Thumbprint of key used by client: '\(Self.hexadecimal(thumbprint))']"
        )
    }

    private func chain(of token: JWT) throws(OAuthFailure) -> [X509] {
        guard let elements = token.header["x5c"]?.array else { return [] }
        let chain = elements.compactMap { $0.string.flatMap { X509(base64: $0) } }
        guard chain.count == elements.count, zip(chain, chain.dropFirst()).allSatisfy({ $1.issued($0) }) else {
            throw Self.rejection(700_027, "The certificates of x5c are not a chain.")
        }
        return chain
    }

    private func checkTimes(of claims: JWTClaims) throws(OAuthFailure) {
        let now = Double(now)
        let start = ((try? claims.notBefore) ?? nil) ?? now
        guard let end = (try? claims.expiration) ?? nil, start <= now, end > now, end - start <= Self.maximumLifetime
        else {
            throw Self.rejection(700_024, "Client assertion is not within its valid time range.")
        }
    }

    /// Returns a time in seconds since 1970 as 14 digits in UTC.
    private func digits(of seconds: Int) -> String {
        Date(timeIntervalSince1970: Double(seconds)).rfc3339.filter(\.isNumber)
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined().uppercased()
    }

    private static func rejection(
        _ number: Int, _ text: String, code: String = "invalid_client", status: Int = 401
    ) -> OAuthFailure {
        OAuthFailure(status: status, code: code, description: "AADSTS\(number): \(text)")
    }
}
