import LodgePlatform
import HTTPExchange
import StrictJSON

extension URL {
    /// Returns this URL with parameters added to its query.
    func adding(_ pairs: [FormEncoding.Pair]) -> URL? {
        let text = absoluteString
        let query = text.firstIndex(of: "?").map { text[$0...] }
        let separator = query == nil ? "?" : query == "?" ? "" : "&"
        return URL(string: text + separator + FormEncoding.encode(pairs), encodingInvalidCharacters: false)
    }
}

/// Checked parameters that several requests share.
enum RequestParameters {
    /// The parameters that the protocol sets.
    static let reserved: Set<String> = [
        "response_type", "client_id", "client_secret", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "code", "code_verifier", "grant_type", "refresh_token", "request", "request_uri",
        "client_assertion", "client_assertion_type", "response_mode",
    ]

    /// Returns the parameters that settings or callers add, in a stable order.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the protocol sets one of the parameters.
    static func extra(
        _ parameters: [String: String], besides used: Set<String>
    ) throws(OAuth2Error) -> [FormEncoding.Pair] {
        for name in parameters.keys where used.contains(name) || reserved.contains(name) {
            throw .configuration("the parameter \(quoted(name)) is set by the protocol and cannot be added")
        }
        return parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns `resource`, once for each (RFC 8707 section 2).
    static func resources(_ resources: [String]) throws(OAuth2Error) -> [FormEncoding.Pair] {
        for resource in resources {
            guard let url = URL(string: resource, encodingInvalidCharacters: false), url.scheme != nil,
                !resource.utf8.contains(UInt8(ascii: "#"))
            else {
                throw .configuration(
                    "the resource \(quoted(resource)) cannot be requested; expected an absolute URI without "
                        + "a fragment")
            }
        }
        return resources.map { ("resource", $0) }
    }

    /// Returns `authorization_details`, a JSON array (RFC 9396 section 2).
    static func authorizationDetails(_ details: [JSONObject]) throws(OAuth2Error) -> [FormEncoding.Pair] {
        guard !details.isEmpty else { return [] }
        guard details.allSatisfy({ $0.text("type") != nil }) else {
            throw .configuration("authorization details must be objects with a type")
        }
        return [("authorization_details", JSONValue.array(details.map(JSONValue.object)).text())]
    }
}
