import StrictJSON

/// The `claims` parameter of authorization and token requests.
///
/// OpenID Connect Core 1.0 section 5.5. Microsoft Entra has the additional member `access_token`, for claims challenges
/// and for the capabilities of the client.
package enum ClaimsParameter {
    /// Returns the claims of a request, or `nil` for a request without claims.
    ///
    /// A claim of the challenge replaces the same claim of the settings; all other claims remain. The capabilities are
    /// added to the values of `xms_cc` in `access_token`, which never lose a value.
    ///
    /// - Parameters:
    ///   - capabilities: The capabilities that the client declares, such as `cp1`.
    ///   - claims: The claims of the settings.
    ///   - challenge: The claims of a challenge, or of the caller.
    package static func merged(
        capabilities: [String], claims: JSONObject? = nil, challenge: JSONObject? = nil
    ) -> JSONObject? {
        var merged = claims ?? JSONObject()
        for member in challenge?.members ?? [] {
            guard let requested = member.value.object, var section = merged[member.name]?.object else {
                merged[member.name] = member.value
                continue
            }
            for claim in requested.members { section[claim.name] = claim.value }
            merged[member.name] = .object(section)
        }
        var values: [JSONValue] = []
        for value in declared(claims) + declared(challenge) + capabilities.map(JSONValue.string)
        where !values.contains(value) {
            values.append(value)
        }
        if !values.isEmpty {
            var section = merged[tokenSection]?.object ?? JSONObject()
            var capabilities = section[capabilityClaim]?.object ?? JSONObject()
            capabilities["values"] = .array(values)
            section[capabilityClaim] = .object(capabilities)
            merged[tokenSection] = .object(section)
        }
        return claims == nil && challenge == nil && values.isEmpty ? nil : merged
    }

    /// Returns the parameter of a request that has these claims already, or `nil` to omit it.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the client declares capabilities, and the claims are not a JSON
    ///   object.
    package static func declaring(
        _ capabilities: [String], in claims: String?
    ) throws(OAuth2Error) -> String? {
        guard !capabilities.isEmpty else { return claims }
        guard let claims else { return merged(capabilities: capabilities).map { JSONValue.object($0).text() } }
        guard let object = (try? JSONValue(parsing: claims))?.object else {
            throw .configuration("the claims of the token request are not a JSON object")
        }
        return merged(capabilities: capabilities, challenge: object).map { JSONValue.object($0).text() }
    }

    private static let tokenSection = "access_token"
    private static let capabilityClaim = "xms_cc"

    /// Returns the capabilities that claims contain already.
    private static func declared(_ claims: JSONObject?) -> [JSONValue] {
        claims?[tokenSection]?.object?[capabilityClaim]?.object?["values"]?.array ?? []
    }
}
