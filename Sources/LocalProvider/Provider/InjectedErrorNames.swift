extension InjectedErrors.Name {
    /// The token endpoint responds with a web page and status 200, as a captive portal does.
    public static let tokenHTML = Self(rawValue: "token-html")
    /// The token endpoint responds with half of a JSON document.
    public static let tokenHalfJSON = Self(rawValue: "token-half-json")
    /// The token endpoint responds with 10 GB.
    public static let tokenHuge = Self(rawValue: "token-huge")
    /// The token endpoint closes the connection without a response.
    public static let tokenNothing = Self(rawValue: "token-nothing")
    /// The token endpoint never responds.
    public static let tokenStall = Self(rawValue: "token-stall")
    /// The token endpoint issues the tokens, and its response arrives slowly in small pieces.
    public static let tokenSlow = Self(rawValue: "token-slow")
    /// The token endpoint responds with 500.
    public static let token500 = Self(rawValue: "token-500")
    /// The token endpoint responds with 503.
    public static let token503 = Self(rawValue: "token-503")
    /// The token endpoint responds with 429 and Retry-After.
    public static let token429 = Self(rawValue: "token-429")
    /// The token endpoint responds with invalid_grant.
    public static let tokenInvalidGrant = Self(rawValue: "token-invalid-grant")
    /// The token endpoint responds with invalid_client.
    public static let tokenInvalidClient = Self(rawValue: "token-invalid-client")
    /// The token endpoint responds with interaction_required.
    public static let tokenInteractionRequired = Self(rawValue: "token-interaction-required")
    /// The token endpoint responds with temporarily_unavailable.
    public static let tokenTemporarilyUnavailable = Self(rawValue: "token-temporarily-unavailable")
    /// The directory responds with 400.
    package static let directory400 = Self(rawValue: "directory-400")
    /// The directory responds with 401.
    public static let directory401 = Self(rawValue: "directory-401")
    /// The directory responds with 401 and requires claims.
    package static let directoryClaims = Self(rawValue: "directory-401-claims")
    /// The directory revokes the access token and requires claims of a new one, as continuous access evaluation does.
    public static let directoryTokenRevoked = Self(rawValue: "directory-token-revoked")
    /// The directory revokes the access token and the provider ends the session, so that the user must sign in again.
    public static let directorySessionRevoked = Self(rawValue: "directory-session-revoked")
    /// The directory responds with 403.
    public static let directory403 = Self(rawValue: "directory-403")
    /// The directory responds with 403 because the tenant has no premium license.
    package static let directoryPremium = Self(rawValue: "directory-403-premium")
    /// The directory responds with 404.
    public static let directory404 = Self(rawValue: "directory-404")
    /// The directory responds with 404 ErrorNonExistentMailbox, without identifiers.
    package static let directoryMailbox = Self(rawValue: "directory-404-mailbox")
    /// The directory responds with 410 to a delta request with a token.
    package static let directory410 = Self(rawValue: "directory-410")
    /// The directory responds with 429 and Retry-After.
    public static let directory429 = Self(rawValue: "directory-429")
    /// The directory responds with 429 and the fields of an exhausted quota.
    public static let directoryThrottled = Self(rawValue: "directory-429-quota")
    /// The directory responds with 500.
    public static let directory500 = Self(rawValue: "directory-500")
    /// The directory responds with 500 and errors within errors.
    package static let directoryNested = Self(rawValue: "directory-500-nested")
    /// The directory responds with 501.
    package static let directory501 = Self(rawValue: "directory-501")
    /// The directory responds with 502 without content.
    package static let directoryEmptyResponse = Self(rawValue: "directory-502")
    /// The directory responds with 503 and Retry-After.
    public static let directory503 = Self(rawValue: "directory-503")
    /// The directory responds with 504 as a JSON error, without Retry-After.
    package static let directory504 = Self(rawValue: "directory-504")
    /// The directory responds with 504 and a gateway's web page.
    package static let directoryHTML = Self(rawValue: "directory-html")
    /// The directory responds with 400 and an empty code, "innererror" and "requestId".
    package static let directoryOddError = Self(rawValue: "directory-odd-error")
    /// The directory responds with half of a JSON document.
    package static let directoryHalfJSON = Self(rawValue: "directory-half-json")
    /// The directory responds with 10 GB.
    package static let directoryHuge = Self(rawValue: "directory-huge")
    /// The directory closes the connection without a response.
    package static let directoryNothing = Self(rawValue: "directory-nothing")
    /// The directory never responds.
    package static let directoryStall = Self(rawValue: "directory-stall")
    /// The directory closes the connection in the middle of the response.
    package static let directoryCut = Self(rawValue: "directory-cut")
    /// The directory's response arrives slowly in small pieces.
    public static let directorySlow = Self(rawValue: "directory-slow")
    /// A list's link to the next page points to another host.
    package static let directoryForeignNextLink = Self(rawValue: "directory-nextlink-foreign")
    /// A list's link to the next page points to the same page.
    package static let directoryNextLinkLoop = Self(rawValue: "directory-nextlink-loop")
    /// A list's page is empty and has a link to the next page.
    package static let directoryEmptyPage = Self(rawValue: "directory-empty-page")
    /// The directory responds with Directory_ExpiredPageToken to a request with a page token.
    package static let directoryExpiredPageToken = Self(rawValue: "directory-expired-page-token")
    /// The directory responds with DirectoryPageTokenNotFoundException to a request with a page token.
    package static let directoryPageTokenNotFound = Self(rawValue: "directory-page-token-not-found")
    /// The responses of a batch arrive in a different order.
    package static let directoryBatchOrder = Self(rawValue: "directory-batch-order")
    /// The first item of a batch gets the response 429.
    package static let directoryBatch429 = Self(rawValue: "directory-batch-429")
    /// The last response of a batch is missing.
    package static let directoryBatchMissing = Self(rawValue: "directory-batch-missing")

    /// The metadata service responds with 400, because the machine has no such identity.
    package static let metadata400 = Self(rawValue: "metadata-400")
    /// The metadata service responds with 404.
    package static let metadata404 = Self(rawValue: "metadata-404")
    /// The metadata service responds with 410, during an update.
    package static let metadata410 = Self(rawValue: "metadata-410")
    /// The metadata service responds with 429 and Retry-After.
    package static let metadata429 = Self(rawValue: "metadata-429")
    /// The metadata service responds with 500.
    package static let metadata500 = Self(rawValue: "metadata-500")
    /// The metadata service responds with a web page and status 200.
    package static let metadataHTML = Self(rawValue: "metadata-html")
    /// The metadata service responds with a redirect.
    package static let metadataRedirect = Self(rawValue: "metadata-redirect")
    /// The metadata service never responds.
    package static let metadataStall = Self(rawValue: "metadata-stall")
    /// The metadata service sends the time of expiry as a number.
    package static let metadataNumber = Self(rawValue: "metadata-number")
    /// The metadata service sends a token of another identity; Google's omits its header field.
    package static let metadataOtherIdentity = Self(rawValue: "metadata-other-identity")

    /// All injected errors, in the order of the help.
    package static let all: [Self] = summaries.map(\.key)

    /// A short description of the error and its value, or `nil` for an unknown name.
    package var summary: String? { Self.summaries.first { $0.key == self }?.value }

    /// Whether the name can have a value.
    package var takesValue: Bool { Self.namesWithValue.contains(self) }

    private static let namesWithValue: Set<Self> = [
        .token429, .tokenSlow, .directory400, .directoryClaims, .directoryTokenRevoked, .directory403, .directory404,
        .directory410, .directory429, .metadata429,
        .directoryThrottled, .directory503, .directorySlow, .directoryForeignNextLink, .directoryBatch429,
    ]

    private static let summaries: KeyValuePairs<Self, String> = [
        .tokenHTML: "the token endpoint responds with a web page and status 200, as a captive portal does",
        .tokenHalfJSON: "the token endpoint responds with half of a JSON text",
        .tokenHuge: "the token endpoint responds with 10 GB",
        .tokenNothing: "the token endpoint closes the connection without a response",
        .tokenStall: "the token endpoint never responds",
        .tokenSlow: "the token endpoint issues the tokens, and its response arrives slowly; =SECONDS for the whole",
        .token500: "the token endpoint responds with 500",
        .token503: "the token endpoint responds with 503",
        .token429: "the token endpoint responds with 429 and Retry-After; =SECONDS, =date, =none or any string",
        .tokenInvalidGrant: "the token endpoint responds with invalid_grant",
        .tokenInvalidClient: "the token endpoint responds with invalid_client",
        .tokenInteractionRequired: "the token endpoint responds with interaction_required",
        .tokenTemporarilyUnavailable: "the token endpoint responds with temporarily_unavailable",
        .directory400: "the directory responds with 400; =CODE instead of Request_BadRequest",
        .directory401: "the directory responds with 401",
        .directoryClaims: "the directory responds with 401 and requires claims; =JSON for others",
        .directoryTokenRevoked:
            "the directory revokes the access token and requires claims of a new one; =JSON for others",
        .directorySessionRevoked: "the directory revokes the access token, and the provider its refresh token",
        .directory403: "the directory responds with 403; =CODE instead of Authorization_RequestDenied",
        .directoryPremium: "the directory responds with 403 because the tenant has no premium license",
        .directory404: "the directory responds with 404; =CODE instead of Request_ResourceNotFound",
        .directoryMailbox: "the directory responds with 404 ErrorNonExistentMailbox, without identifiers",
        .directory410:
            "a delta request with a token gets the response 410; =resyncRequired instead of syncStateNotFound",
        .directory429: "the directory responds with 429 and Retry-After; =SECONDS, =date, =none or any string",
        .directoryThrottled:
            "the directory responds with 429 and the fields of a used-up quota; =SECONDS for Retry-After",
        .directory500: "the directory responds with 500",
        .directoryNested: "the directory responds with 500 and errors within errors",
        .directory501: "the directory responds with 501",
        .directoryEmptyResponse: "the directory responds with 502 without content",
        .directory503: "the directory responds with 503 and Retry-After; =SECONDS, =date, =none or any string",
        .directory504: "the directory responds with 504 in the shape of an error, without Retry-After",
        .directoryHTML: "the directory responds with 504 and a gateway's web page",
        .directoryOddError: "the directory responds with 400 and an empty code, \"innererror\" and \"requestId\"",
        .directoryHalfJSON: "the directory responds with half of a JSON text",
        .directoryHuge: "the directory responds with 10 GB",
        .directoryNothing: "the directory closes the connection without a response",
        .directoryStall: "the directory never responds",
        .directoryCut: "the directory's response breaks off",
        .directorySlow: "the directory's response arrives slowly, in small pieces; =SECONDS for the whole",
        .directoryForeignNextLink: "a list's next page is at another host; =URL for which",
        .directoryNextLinkLoop: "a list's next page is the same page again",
        .directoryEmptyPage: "a list's page is empty and has a next page",
        .directoryExpiredPageToken: "a request with a page token gets the response Directory_ExpiredPageToken",
        .directoryPageTokenNotFound:
            "a request with a page token gets the response DirectoryPageTokenNotFoundException",
        .directoryBatchOrder: "a batch's responses arrive in another order",
        .directoryBatch429: "a batch's first item gets the response 429; =SECONDS, =date, =none or any string",
        .directoryBatchMissing: "a batch's last response is missing",
        .metadata400: "the metadata service responds with 400: the machine has no such identity",
        .metadata404: "the metadata service responds with 404",
        .metadata410: "the metadata service responds with 410, as during an update",
        .metadata429: "the metadata service responds with 429 and Retry-After; =SECONDS, =date, =none or any string",
        .metadata500: "the metadata service responds with 500",
        .metadataHTML: "the metadata service responds with a web page and status 200",
        .metadataRedirect: "the metadata service responds with a redirect",
        .metadataStall: "the metadata service never responds",
        .metadataNumber: "the metadata service sends the time of expiry as a number",
        .metadataOtherIdentity: "the metadata service sends a token of another identity, or is of another platform",
    ]
}
