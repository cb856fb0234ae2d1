extension InjectedErrors.Name {
    /// The token endpoint answers a web page with status 200, as a captive portal does.
    public static let tokenHTML = Self(rawValue: "token-html")
    /// The token endpoint answers half of a JSON text.
    public static let tokenHalfJSON = Self(rawValue: "token-half-json")
    /// The token endpoint answers 10 GB.
    public static let tokenHuge = Self(rawValue: "token-huge")
    /// The token endpoint closes the connection without an answer.
    public static let tokenNothing = Self(rawValue: "token-nothing")
    /// The token endpoint never answers.
    public static let tokenStall = Self(rawValue: "token-stall")
    /// The token endpoint answers 500.
    public static let token500 = Self(rawValue: "token-500")
    /// The token endpoint answers 503.
    public static let token503 = Self(rawValue: "token-503")
    /// The token endpoint answers 429 with Retry-After.
    public static let token429 = Self(rawValue: "token-429")
    /// The token endpoint answers invalid_grant.
    public static let tokenInvalidGrant = Self(rawValue: "token-invalid-grant")
    /// The token endpoint answers invalid_client.
    public static let tokenInvalidClient = Self(rawValue: "token-invalid-client")
    /// The token endpoint answers temporarily_unavailable.
    public static let tokenTemporarilyUnavailable = Self(rawValue: "token-temporarily-unavailable")
    /// The directory answers 400.
    public static let directory400 = Self(rawValue: "directory-400")
    /// The directory answers 401.
    public static let directory401 = Self(rawValue: "directory-401")
    /// The directory answers 401 and asks for claims.
    public static let directoryClaims = Self(rawValue: "directory-401-claims")
    /// The directory answers 403.
    public static let directory403 = Self(rawValue: "directory-403")
    /// The directory answers 403 because the tenant has no premium licence.
    public static let directoryPremium = Self(rawValue: "directory-403-premium")
    /// The directory answers 404.
    public static let directory404 = Self(rawValue: "directory-404")
    /// The directory answers 404 ErrorNonExistentMailbox, without identifiers.
    public static let directoryMailbox = Self(rawValue: "directory-404-mailbox")
    /// A delta request with a token is answered 410.
    public static let directory410 = Self(rawValue: "directory-410")
    /// The directory answers 429 with Retry-After.
    public static let directory429 = Self(rawValue: "directory-429")
    /// The directory answers 429 with the fields of a used-up quota.
    public static let directoryThrottled = Self(rawValue: "directory-429-quota")
    /// The directory answers 500.
    public static let directory500 = Self(rawValue: "directory-500")
    /// The directory answers 500 with errors within errors.
    public static let directoryNested = Self(rawValue: "directory-500-nested")
    /// The directory answers 501.
    public static let directory501 = Self(rawValue: "directory-501")
    /// The directory answers 502 without content.
    public static let directoryEmptyAnswer = Self(rawValue: "directory-502")
    /// The directory answers 503 with Retry-After.
    public static let directory503 = Self(rawValue: "directory-503")
    /// The directory answers 504 in the shape of an error, without Retry-After.
    public static let directory504 = Self(rawValue: "directory-504")
    /// The directory answers 504 with a gateway's web page.
    public static let directoryHTML = Self(rawValue: "directory-html")
    /// The directory answers 400 with an empty code, "innererror" and "requestId".
    public static let directoryOddError = Self(rawValue: "directory-odd-error")
    /// The directory answers half of a JSON text.
    public static let directoryHalfJSON = Self(rawValue: "directory-half-json")
    /// The directory answers 10 GB.
    public static let directoryHuge = Self(rawValue: "directory-huge")
    /// The directory closes the connection without an answer.
    public static let directoryNothing = Self(rawValue: "directory-nothing")
    /// The directory never answers.
    public static let directoryStall = Self(rawValue: "directory-stall")
    /// The directory's answer breaks off.
    public static let directoryCut = Self(rawValue: "directory-cut")
    /// The directory's answer comes slowly, in small pieces.
    public static let directorySlow = Self(rawValue: "directory-slow")
    /// A list's next page is at another host.
    public static let directoryForeignNextLink = Self(rawValue: "directory-nextlink-foreign")
    /// A list's next page is the same page again.
    public static let directoryNextLinkLoop = Self(rawValue: "directory-nextlink-loop")
    /// A list's page is empty and has a next page.
    public static let directoryEmptyPage = Self(rawValue: "directory-empty-page")
    /// A request with a page token is answered Directory_ExpiredPageToken.
    public static let directoryExpiredPageToken = Self(rawValue: "directory-expired-page-token")
    /// A request with a page token is answered DirectoryPageTokenNotFoundException.
    public static let directoryPageTokenNotFound = Self(rawValue: "directory-page-token-not-found")
    /// A batch's answers come in another order.
    public static let directoryBatchOrder = Self(rawValue: "directory-batch-order")
    /// A batch's first item is answered 429.
    public static let directoryBatch429 = Self(rawValue: "directory-batch-429")
    /// A batch's last answer is missing.
    public static let directoryBatchMissing = Self(rawValue: "directory-batch-missing")

    /// Every fault that the provider can play, in the order in which they are listed to people.
    public static let all: [Self] = summaries.map(\.name)

    /// What the fault does and what its value is, in a few words; nil for a name that the provider does not know.
    public var summary: String? { Self.summaries.first { $0.name == self }?.summary }

    /// Whether a value may follow the name.
    public var takesValue: Bool { Self.summaries.first { $0.name == self }?.takesValue ?? false }

    private static let summaries: [(name: Self, takesValue: Bool, summary: String)] = [
        (.tokenHTML, false, "the token endpoint answers a web page with status 200, as a captive portal does"),
        (.tokenHalfJSON, false, "the token endpoint answers half of a JSON text"),
        (.tokenHuge, false, "the token endpoint answers 10 GB"),
        (.tokenNothing, false, "the token endpoint closes the connection without an answer"),
        (.tokenStall, false, "the token endpoint never answers"),
        (.token500, false, "the token endpoint answers 500"),
        (.token503, false, "the token endpoint answers 503"),
        (.token429, true, "the token endpoint answers 429 with Retry-After; =SECONDS, =date, =none or any text"),
        (.tokenInvalidGrant, false, "the token endpoint answers invalid_grant"),
        (.tokenInvalidClient, false, "the token endpoint answers invalid_client"),
        (.tokenTemporarilyUnavailable, false, "the token endpoint answers temporarily_unavailable"),
        (.directory400, true, "the directory answers 400; =CODE instead of Request_BadRequest"),
        (.directory401, false, "the directory answers 401"),
        (.directoryClaims, true, "the directory answers 401 and asks for claims; =JSON for others"),
        (.directory403, true, "the directory answers 403; =CODE instead of Authorization_RequestDenied"),
        (.directoryPremium, false, "the directory answers 403 because the tenant has no premium licence"),
        (.directory404, true, "the directory answers 404; =CODE instead of Request_ResourceNotFound"),
        (.directoryMailbox, false, "the directory answers 404 ErrorNonExistentMailbox, without identifiers"),
        (
            .directory410, true,
            "a delta request with a token is answered 410; =resyncRequired instead of syncStateNotFound"
        ),
        (.directory429, true, "the directory answers 429 with Retry-After; =SECONDS, =date, =none or any text"),
        (
            .directoryThrottled, true,
            "the directory answers 429 with the fields of a used-up quota; =SECONDS for Retry-After"
        ),
        (.directory500, false, "the directory answers 500"),
        (.directoryNested, false, "the directory answers 500 with errors within errors"),
        (.directory501, false, "the directory answers 501"),
        (.directoryEmptyAnswer, false, "the directory answers 502 without content"),
        (.directory503, true, "the directory answers 503 with Retry-After; =SECONDS, =date, =none or any text"),
        (.directory504, false, "the directory answers 504 in the shape of an error, without Retry-After"),
        (.directoryHTML, false, "the directory answers 504 with a gateway's web page"),
        (.directoryOddError, false, "the directory answers 400 with an empty code, \"innererror\" and \"requestId\""),
        (.directoryHalfJSON, false, "the directory answers half of a JSON text"),
        (.directoryHuge, false, "the directory answers 10 GB"),
        (.directoryNothing, false, "the directory closes the connection without an answer"),
        (.directoryStall, false, "the directory never answers"),
        (.directoryCut, false, "the directory's answer breaks off"),
        (.directorySlow, true, "the directory's answer comes slowly, in small pieces; =SECONDS for the whole"),
        (.directoryForeignNextLink, true, "a list's next page is at another host; =URL for which"),
        (.directoryNextLinkLoop, false, "a list's next page is the same page again"),
        (.directoryEmptyPage, false, "a list's page is empty and has a next page"),
        (.directoryExpiredPageToken, false, "a request with a page token is answered Directory_ExpiredPageToken"),
        (
            .directoryPageTokenNotFound, false,
            "a request with a page token is answered DirectoryPageTokenNotFoundException"
        ),
        (.directoryBatchOrder, false, "a batch's answers come in another order"),
        (.directoryBatch429, true, "a batch's first item is answered 429; =SECONDS, =date, =none or any text"),
        (.directoryBatchMissing, false, "a batch's last answer is missing"),
    ]
}
