import LodgePlatform
import JOSE
import StrictJSON

// The client assertions of Microsoft Entra and AD FS.
extension ClientAssertion {
    /// The seconds by which an assertion is dated back, so that it is valid at servers with a slower clock.
    private static let tolerance = 30.0
    /// The lifetime of an assertion with a certificate in seconds. Entra accepts ten minutes at most.
    private static let certificateLifetime: Int64 = 600

    /// Signs an assertion with the key of a certificate. Every request needs a new one, even a repeated request.
    ///
    /// Blocks until the device has responded if the key is in a device.
    ///
    /// - Parameters:
    ///   - audience: The URL of the token endpoint.
    ///   - algorithm: PS256 sends the SHA-256 thumbprint of the certificate, and RS256 its SHA-1 thumbprint.
    ///   - includesChain: Whether the assertion contains the certificate and its issuers.
    ///   - now: Seconds since 1970.
    ///   - random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the key cannot sign with the algorithm; `CertificateError` of a device;
    ///   any error that `random` throws.
    package static func sign(
        clientID: String, audience: String, identity: CertificateIdentity, algorithm: JWSAlgorithm,
        includesChain: Bool, now: Double, random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws -> Secret {
        var header: JSONObject = ["typ": "JWT"]
        if algorithm == .rs256 {
            header.append("x5t", .string(Base64URL.encode(identity.certificate.sha1Thumbprint)))
        } else {
            header.append("x5t#S256", .string(Base64URL.encode(identity.certificate.sha256Thumbprint)))
        }
        if includesChain {
            // RFC 7515 section 4.1.6: standard base64, the certificate of the key first.
            header.append("x5c", .array(identity.chain.map { .string(Data($0.der).base64EncodedString()) }))
        }
        let start = now - tolerance
        guard start.isFinite, abs(start) < 1e15 else { throw OAuth2Error.configuration("the time is out of range") }
        let claims: JSONObject = [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience),
            "nbf": .number(JSONNumber(Int64(start))),
        ]
        if identity.device != nil {
            let claims = try JWT.issued(claims, lifetime: certificateLifetime, now: start, random: random)
            return Secret(
                try JWT.sign(claims, algorithm: algorithm, header: header) {
                    try identity.deviceSignature(of: $0, using: algorithm)
                })
        }
        return Secret(
            try JWT.issue(
                "the client assertion", claims, lifetime: certificateLifetime, key: identity.key, algorithm: algorithm,
                header: header, now: start, random: random))
    }

    /// Returns the public values of an assertion that a provider compares with a registration: the thumbprint of the
    /// certificate, or the issuer, subject and audience of another issuer's assertion. Returns `nil` for other assertions.
    package static func summary(of assertion: Secret) -> String? {
        guard let token = try? JWT(parsing: assertion.value) else { return nil }
        for (member, name) in [("x5t#S256", "SHA-256"), ("x5t", "SHA-1")] {
            guard let text = token.header[member]?.string, let bytes = Base64URL.decode(text) else { continue }
            return "the certificate with the \(name) thumbprint \(Certificate.hexadecimal(bytes))"
        }
        guard let issuer = (try? token.unverifiedClaims.issuer) ?? nil,
            let subject = (try? token.unverifiedClaims.subject) ?? nil, !bytesEqual(issuer, subject)
        else { return nil }
        let audiences = (try? token.unverifiedClaims.audience) ?? []
        return "issuer \(quoted(issuer)), subject \(quoted(subject)), "
            + "audience \(audiences.map(quoted).joined(separator: ", "))"
    }
}
