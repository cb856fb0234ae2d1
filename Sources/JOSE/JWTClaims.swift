import LodgePlatform
import StrictJSON

/// The claims of a token, with typed access to the registered claims.
///
/// A property is `nil` if the claim is absent. It throws if the type of the claim differs from RFC 7519, so that an
/// invalid claim is never treated as absent.
///
/// See [RFC 7519 section 4.1](https://www.rfc-editor.org/rfc/rfc7519#section-4.1).
package struct JWTClaims: Sendable, Equatable {
    /// All claims, in the order of the token.
    package let members: JSONObject

    /// Creates claims from members.
    package init(_ members: JSONObject) { self.members = members }

    /// The claim with this name, of any type.
    package subscript(name: String) -> JSONValue? { members[name] }

    /// `iss`: the issuer of the token.
    package var issuer: String? { get throws(JOSEError) { try string("iss") } }

    /// `sub`: the subject, unique at the issuer.
    package var subject: String? { get throws(JOSEError) { try string("sub") } }

    /// `aud`: the audience, or `nil` if the claim is absent. A single string becomes a list of one element.
    package var audience: [String]? {
        get throws(JOSEError) {
            guard let value = members["aud"] else { return nil }
            if let one = value.string { return [one] }
            guard let elements = value.array else { throw .claims("aud is \(value.kind), not a string or a list") }
            let strings = elements.compactMap(\.string)
            guard strings.count == elements.count else { throw .claims("aud holds something other than strings") }
            return strings
        }
    }

    /// `exp`: the expiration time in seconds since 1970.
    package var expiration: Double? { get throws(JOSEError) { try seconds("exp") } }

    /// `nbf`: the start of validity in seconds since 1970.
    package var notBefore: Double? { get throws(JOSEError) { try seconds("nbf") } }

    /// `iat`: the time of issue in seconds since 1970.
    package var issuedAt: Double? { get throws(JOSEError) { try seconds("iat") } }

    /// `jti`: the identifier of the token.
    package var tokenID: String? { get throws(JOSEError) { try string("jti") } }

    /// Returns a string claim, or `nil` if it is absent.
    ///
    /// - Throws: ``JOSEError/claims(_:)`` if it has another type.
    package func string(_ name: String) throws(JOSEError) -> String? {
        guard let value = members[name] else { return nil }
        guard let string = value.string else { throw .claims("\(name) is \(value.kind), not a string") }
        return string
    }

    /// Returns a claim with seconds since 1970, or `nil` if it is absent. Fractions are allowed.
    ///
    /// - Throws: ``JOSEError/claims(_:)`` if it has another type or is too large for a `Double`.
    package func seconds(_ name: String) throws(JOSEError) -> Double? {
        guard let value = members[name] else { return nil }
        guard let seconds = value.number?.double else {
            throw .claims("\(name) is \(value.kind), not a number of seconds")
        }
        return seconds
    }
}

extension JWTClaims: Redacted {
    /// The number of claims. Their values are personal data and not included.
    package var description: String { "JWTClaims(\(members.members.count) claims)" }
}
