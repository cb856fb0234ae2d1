extension TokenResponse {
    /// The accepted deviations from the specifications.
    ///
    /// ``strict`` accepts no deviations. ``providers`` accepts deviations that have the same meaning for every
    /// provider. The others are correct only for some providers, so the settings of a provider select them by name.
    public struct ResponseQuirks: OptionSet, Sendable, Hashable {
        /// One bit per deviation.
        public let rawValue: UInt16

        /// Creates a set of deviations.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// No `token_type` means Bearer. LinkedIn, Instagram, Weibo, VK.
        public static let missingTokenType = ResponseQuirks(rawValue: 1 << 0)
        /// Other names of the Bearer type: `bot` and `user` (Slack), `User Access Token` (eBay).
        public static let otherBearerNames = ResponseQuirks(rawValue: 1 << 1)
        /// JSON with another content type, or a form instead of JSON. GitHub, Facebook's older endpoint, WeChat, QQ.
        public static let otherFormats = ResponseQuirks(rawValue: 1 << 2)
        /// `scope` as an array (Twitch, Medium), or with the name `scopes` (Bitbucket).
        public static let scopeLists = ResponseQuirks(rawValue: 1 << 3)
        /// `expires_in` as a string (PayPal, Azure AD v1), or with the name `expires` (Facebook).
        public static let textualLifetime = ResponseQuirks(rawValue: 1 << 4)
        /// Commas separate the scope tokens. GitHub, Slack. For other providers a comma can be part of a token.
        public static let commaSeparatedScope = ResponseQuirks(rawValue: 1 << 5)
        /// A lifetime of zero means that it is unknown. VK, Mailchimp. For other providers it means expired.
        public static let zeroLifetimeIsUnknown = ResponseQuirks(rawValue: 1 << 6)
        /// The user's token is in the member `authed_user`. Slack, when only user scopes were requested.
        public static let nestedUserToken = ResponseQuirks(rawValue: 1 << 7)
        /// Members in camel case, such as `accessToken`. plentymarkets.
        public static let camelCaseMembers = ResponseQuirks(rawValue: 1 << 8)

        /// The members are in the member `data`. TikTok's older endpoint.
        public static let nestedData = ResponseQuirks(rawValue: 1 << 9)
        /// A refresh can return an ID token that fails a check other than issuer and subject: the store keeps the previous one and
        /// accepts the other tokens (OpenID Connect Core 1.0 section 12.2 requires that it rejects them).
        public static let invalidRefreshedIDToken = ResponseQuirks(rawValue: 1 << 10)

        /// Creates the deviation with this name in the settings, or returns `nil` for other names.
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

        /// The names for settings, in alphabetical order.
        package static var allNames: [String] { names.keys.sorted() }

        /// No deviations.
        public static let strict: ResponseQuirks = []
        /// Deviations that have the same meaning for every provider.
        public static let providers: ResponseQuirks = [
            .missingTokenType, .otherBearerNames, .otherFormats, .scopeLists, .textualLifetime, .nestedData,
        ]
    }

    /// The properties that a request requires of its response.
    package struct Expectation: Sendable, Equatable {
        /// The token types that the client can use, in lower case. A DPoP proof adds `dpop`; if the settings require
        /// the binding, it replaces `bearer`. Token exchange adds `n_a`.
        package var tokenTypes: Set<String> = ["bearer"]
        /// Whether an ID token is required, as after a request for `openid` that is not a refresh.
        package var idToken = false
        /// Whether `issued_token_type` is required, as after a token exchange (RFC 8693 section 2.2.1).
        package var issuedTokenType = false
        /// The requested type of a token exchange; `issued_token_type` must be the same.
        package var requestedTokenType: String?

        /// Creates the expectation of a Bearer token without an ID token.
        package init() {}
    }
}
