/// The names of header fields, parameters and JSON members with secret values.
enum SecretNames {
    /// Header fields with secret values.
    private static let fields: Set<String> = [
        "authorization", "proxyauthorization", "dpop", "cookie", "setcookie", "dpopnonce", "xapikey",
        "authenticationinfo", "xmsclientprincipal",
    ]
    /// JSON members and parameters with secret values, without punctuation.
    private static let members: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "token", "codeverifier", "clientsecret", "secret", "password",
        "assertion", "clientassertion", "devicecode", "usercode", "verificationuricomplete", "idtokenhint",
        "registrationaccesstoken", "subjecttoken", "actortoken", "apikey", "clientinfo", "samlresponse",
        "authorization", "cookie", "dpop", "secretid",
    ]
    /// Parameters only: in a response, `code` is an error code, and `state` a part of a postal address.
    private static let parameters: Set<String> = [
        "code", "state", "nonce", "key", "signature", "sig", "sessionstate", "request", "loginhint",
    ]
    /// Parts of names that indicate a secret.
    private static let tellingParts = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "subscriptionkey", "accesskey", "privatekey",
        "signature", "credential",
    ]
    /// Ends of names that describe a secret without containing it: `token_type`, `token_endpoint`, `passwordPolicies`.
    private static let harmlessEnds = [
        "type", "types", "endpoint", "supported", "policy", "policies", "url", "uri", "expiresin", "expiresat",
        "expires",
        "expiry", "expiration", "lifetime", "time", "date", "name", "id", "alg", "algorithm", "method", "methods",
        "count", "version", "profile", "required", "enabled",
    ]
    /// Positions in a list, which are not secret and are necessary to request the next page.
    private static let pageTokens = [
        "skiptoken", "deltatoken", "pagetoken", "synctoken", "continuationtoken", "nexttoken",
    ]

    private static func plain(_ name: some StringProtocol) -> String {
        String(name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != "." && $0 != "$" && $0 != "@" })
    }

    private static func tells(_ plain: String) -> Bool {
        tellingParts.contains { plain.contains($0) } && !harmlessEnds.contains { plain.hasSuffix($0) }
            && !pageTokens.contains { plain.hasSuffix($0) }
    }

    /// Returns whether a header field of this name is secret.
    static func hasField(_ name: String) -> Bool {
        let plain = plain(name)
        return fields.contains(plain) || (tells(plain) && plain != "accesscontrolallowcredentials")
    }

    /// Returns whether a member of this name is secret.
    static func hasMember(_ name: String) -> Bool {
        let plain = plain(name)
        return members.contains(plain) || tells(plain)
    }

    /// Returns whether a parameter of this name is secret.
    static func hasParameter(_ name: String) -> Bool { parameters.contains(plain(name)) || hasMember(name) }

    /// Returns whether only secrets have this name, so that text of an unknown type with this name is a form.
    static func isListed(_ name: String) -> Bool { members.contains(plain(name)) }
}
