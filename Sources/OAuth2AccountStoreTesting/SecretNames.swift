/// Which names of header fields, parameters and members of JSON say that their value is secret.
enum SecretNames {
    /// Header fields whose values are never kept.
    private static let fields: Set<String> = [
        "authorization", "proxyauthorization", "dpop", "cookie", "setcookie", "dpopnonce", "xapikey",
        "authenticationinfo", "xmsclientprincipal",
    ]
    /// Names of members of JSON, and of parameters, whose values are never kept, without punctuation.
    private static let members: Set<String> = [
        "accesstoken", "refreshtoken", "idtoken", "token", "codeverifier", "clientsecret", "secret", "password",
        "assertion", "clientassertion", "devicecode", "usercode", "verificationuricomplete", "idtokenhint",
        "registrationaccesstoken", "subjecttoken", "actortoken", "apikey", "clientinfo", "samlresponse",
        "authorization", "cookie", "dpop", "secretid",
    ]
    /// Those of parameters alone: in an answer a `code` is that of an error, and a `state` a part of an address.
    private static let parameters: Set<String> = [
        "code", "state", "nonce", "key", "signature", "sig", "sessionstate", "request", "loginhint",
    ]
    /// Parts that tell of a secret in names that are not in the lists.
    private static let tellingParts = [
        "token", "secret", "password", "passwd", "passphrase", "apikey", "subscriptionkey", "accesskey", "privatekey",
        "signature", "credential",
    ]
    /// Ends of names that speak about a secret and have none: `token_type`, `token_endpoint`, `passwordPolicies`.
    private static let harmlessEnds = [
        "type", "types", "endpoint", "supported", "policy", "policies", "url", "uri", "expiresin", "expiresat",
        "expires",
        "expiry", "expiration", "lifetime", "time", "date", "name", "id", "alg", "algorithm", "method", "methods",
        "count", "version", "profile", "required", "enabled",
    ]
    /// Places in a list, which tell nothing and are needed to ask for the next page.
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

    /// Whether a header field of this name is secret.
    static func hasField(_ name: String) -> Bool {
        let plain = plain(name)
        return fields.contains(plain) || (tells(plain) && plain != "accesscontrolallowcredentials")
    }

    /// Whether a member of this name is secret.
    static func hasMember(_ name: String) -> Bool {
        let plain = plain(name)
        return members.contains(plain) || tells(plain)
    }

    /// Whether a parameter of this name is secret.
    static func hasParameter(_ name: String) -> Bool { parameters.contains(plain(name)) || hasMember(name) }

    /// Whether a name is one of those that only secrets have, so that even text of an unknown kind with it is looked through.
    static func isListed(_ name: String) -> Bool { members.contains(plain(name)) }
}
