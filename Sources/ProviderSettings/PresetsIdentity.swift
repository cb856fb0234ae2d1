import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The identity of a user at a provider without ID tokens, by the type's ``AccountType/userinfoClaims`` and
/// ``AccountType/tokenClaims``.
///
/// Such claims depend on the access token: they identify an account in the store, but prove no identity to other
/// parties.
package enum IdentityMapping {
    /// Returns the claims of a userinfo response: of OpenID Connect, or by the mapping of the type.
    ///
    /// - Throws: ``OAuth2Error``, including for a response without a subject. Slack reports errors with status 200.
    package static func claims(_ response: HTTPResponse, subject: String?, type: AccountType) throws(OAuth2Error)
        -> JSONObject
    {
        let object = try UserInfo.read(response, subject: type.userinfoClaims.isEmpty ? subject : nil)
        guard !type.userinfoClaims.isEmpty else { return object }
        let claims = claims(in: object, by: type.userinfoClaims)
        guard let found = claims.text("sub") else {
            throw .invalidResponse(
                member: "sub", reason: "the userinfo response has no \(type.userinfoClaims["sub"] ?? "sub")")
        }
        guard subject.map({ $0.utf8.elementsEqual(found.utf8) }) ?? true else {
            throw .invalidResponse(member: "sub_mismatch", reason: "the userinfo response has another subject")
        }
        return claims
    }

    /// Returns the claims in a token response, or `nil` if it has no subject.
    package static func claims(_ answer: TokenResponse, type: AccountType) -> JSONObject? {
        guard !type.tokenClaims.isEmpty else { return nil }
        let claims = claims(in: answer.additional, by: type.tokenClaims)
        return claims.text("sub") == nil ? nil : claims
    }

    private static func claims(in object: JSONObject, by mapping: [String: String]) -> JSONObject {
        var claims: [JSONObject.Member] = []
        for (claim, path) in mapping.sorted(by: { $0.key < $1.key }) {
            var value: JSONValue? = .object(object)
            for name in path.split(separator: ".") { value = value?.object?[String(name)] }
            switch value {
            case .string(let text)? where !text.isEmpty: claims.append(.init(name: claim, value: .string(text)))
            // GitHub's identifiers are numbers. A string loses no digit.
            case .number(let number)? where claim == "sub":
                claims.append(.init(name: claim, value: .string(number.literal)))
            case .number?, .bool?: claims.append(.init(name: claim, value: value ?? .null))
            default: break
            }
        }
        return JSONObject(claims)
    }
}
