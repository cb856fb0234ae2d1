public import Platform
public import StrictJSON

/// The claims of a token, with readers for the registered ones.
///
/// A reader gives nil when the claim is absent and throws when it has another type than RFC 7519 says, so that a wrong
/// claim is never taken for a missing one.
///
/// [RFC 7519 section 4.1](https://www.rfc-editor.org/rfc/rfc7519#section-4.1)
public struct JWTClaims: Sendable, Equatable {
    /// All claims, in the order of the token.
    public let members: JSONObject

    /// Claims of these members.
    public init(_ members: JSONObject) { self.members = members }

    /// The claim of this name, whatever its type.
    public subscript(name: String) -> JSONValue? { members[name] }

    /// `iss`: who issued the token.
    public var issuer: String? { get throws(JOSEError) { try string("iss") } }

    /// `sub`: whom the token is about, unique at the issuer.
    public var subject: String? { get throws(JOSEError) { try string("sub") } }

    /// `aud`: whom the token is for. One string on the wire counts as a list of one; nil when the claim is absent.
    public var audience: [String]? {
        get throws(JOSEError) {
            guard let value = members["aud"] else { return nil }
            if let one = value.string { return [one] }
            guard let elements = value.array else { throw .claims("aud is \(value.kind), not a string or a list") }
            let strings = elements.compactMap(\.string)
            guard strings.count == elements.count else { throw .claims("aud holds something other than strings") }
            return strings
        }
    }

    /// `exp`: when the token ends, in seconds since 1970.
    public var expiration: Double? { get throws(JOSEError) { try seconds("exp") } }

    /// `nbf`: when the token begins, in seconds since 1970.
    public var notBefore: Double? { get throws(JOSEError) { try seconds("nbf") } }

    /// `iat`: when the token was issued, in seconds since 1970.
    public var issuedAt: Double? { get throws(JOSEError) { try seconds("iat") } }

    /// `jti`: the name of this one token.
    public var tokenID: String? { get throws(JOSEError) { try string("jti") } }

    /// A claim that must be a string if it is there.
    ///
    /// - Throws: ``JOSEError/claims(_:)`` when it is something else.
    public func string(_ name: String) throws(JOSEError) -> String? {
        guard let value = members[name] else { return nil }
        guard let string = value.string else { throw .claims("\(name) is \(value.kind), not a string") }
        return string
    }

    /// A claim that must be a number of seconds since 1970 if it is there. Fractions are allowed.
    ///
    /// - Throws: ``JOSEError/claims(_:)`` when it is something else, or too large for a double.
    public func seconds(_ name: String) throws(JOSEError) -> Double? {
        guard let value = members[name] else { return nil }
        guard let seconds = value.number?.double else {
            throw .claims("\(name) is \(value.kind), not a number of seconds")
        }
        return seconds
    }
}

extension JWTClaims: Redacted {
    /// How many claims there are. Their values are people's data and do not print.
    public var description: String { "JWTClaims(\(members.members.count) claims)" }
}
