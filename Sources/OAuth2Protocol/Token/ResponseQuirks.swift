extension TokenResponse {
    /// Which departures from the specifications are read.
    ///
    /// ``strict`` reads none. ``providers`` reads what can mean only one thing, whoever sends it. The rest is right for some
    /// providers and wrong for others: a provider's settings ask for it by name.
    public struct ResponseQuirks: OptionSet, Sendable, Hashable {
        /// One bit per departure.
        public let rawValue: UInt16

        /// Creates a set of departures.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// No `token_type` means Bearer. LinkedIn, Instagram, Weibo, VK.
        public static let missingTokenType = ResponseQuirks(rawValue: 1 << 0)
        /// Other names of the Bearer type: `bot` and `user` (Slack), `User Access Token` (eBay).
        public static let otherBearerNames = ResponseQuirks(rawValue: 1 << 1)
        /// JSON under another content type, or a form in place of JSON. GitHub, Facebook's older endpoint, WeChat, QQ.
        public static let otherFormats = ResponseQuirks(rawValue: 1 << 2)
        /// `scope` as an array (Twitch, Medium), or under the name `scopes` (Bitbucket).
        public static let scopeLists = ResponseQuirks(rawValue: 1 << 3)
        /// `expires_in` as a string (PayPal, Azure AD v1), or under the name `expires` (Facebook).
        public static let textualLifetime = ResponseQuirks(rawValue: 1 << 4)
        /// Commas separate the scope tokens. GitHub, Slack. Elsewhere a comma may be part of a token.
        public static let commaSeparatedScope = ResponseQuirks(rawValue: 1 << 5)
        /// A lifetime of zero means that it is unknown. VK, Mailchimp. Elsewhere it means expired.
        public static let zeroLifetimeIsUnknown = ResponseQuirks(rawValue: 1 << 6)
        /// The user's token is in the member `authed_user`. Slack, when only user scopes were requested.
        public static let nestedUserToken = ResponseQuirks(rawValue: 1 << 7)
        /// Members in camel case, such as `accessToken`. PlentyMarkets.
        public static let camelCaseMembers = ResponseQuirks(rawValue: 1 << 8)

        /// The members are in the member `data`. TikTok's older endpoint.
        public static let nestedData = ResponseQuirks(rawValue: 1 << 9)
        /// A refresh can return an ID token that fails a check other than issuer and subject: the store keeps the previous one and
        /// accepts the other tokens (OpenID Connect Core 1.0 section 12.2 requires to reject them).
        public static let invalidRefreshedIDToken = ResponseQuirks(rawValue: 1 << 10)

        /// Creates the departure of this name, as in the settings; `nil` for other names.
        public init?(name: String) {
            guard let found = Self.names[name] else { return nil }
            self = found
        }

        private static let names: [String: ResponseQuirks] = [
            "strict": .strict, "providers": .providers, "missingTokenType": .missingTokenType,
            "otherBearerNames": .otherBearerNames, "otherFormats": .otherFormats, "scopeLists": .scopeLists,
            "textualLifetime": .textualLifetime, "commaSeparatedScope": .commaSeparatedScope,
            "zeroLifetimeIsUnknown": .zeroLifetimeIsUnknown, "nestedUserToken": .nestedUserToken,
            "camelCaseMembers": .camelCaseMembers, "nestedData": .nestedData,
            "invalidRefreshedIDToken": .invalidRefreshedIDToken,
        ]

        /// The names that settings can spell, in alphabetical order.
        package static var allNames: [String] { names.keys.sorted() }

        /// As the specifications say.
        public static let strict: ResponseQuirks = []
        /// Departures of real providers that can mean only one thing.
        public static let providers: ResponseQuirks = [
            .missingTokenType, .otherBearerNames, .otherFormats, .scopeLists, .textualLifetime, .nestedData,
        ]
    }

    /// What the request makes the client expect of the response.
    package struct Expectation: Sendable, Equatable {
        /// The token types that the client can use, in lower case. A DPoP proof adds `dpop`; where the binding is required it
        /// replaces `bearer`. Token exchange adds `n_a`.
        package var tokenTypes: Set<String> = ["bearer"]
        /// Whether an ID token must be there: `openid` was requested and this is not a refresh.
        package var idToken = false
        /// Whether `issued_token_type` must be there, as after a token exchange (RFC 8693 section 2.2.1).
        package var issuedTokenType = false
        /// The token type that a token exchange asked for; `issued_token_type` must be the same.
        package var requestedTokenType: String?

        /// Creates the expectation of a Bearer token without an ID token.
        package init() {}
    }
}
