extension InjectedErrors.Name {
    /// The token endpoint responds with a web page and status 200, as a captive portal does.
    public static let tokenHTML = Self(rawValue: "token-html")
    /// The token endpoint responds with half of a JSON text.
    public static let tokenHalfJSON = Self(rawValue: "token-half-json")
    /// The token endpoint responds with 10 GB.
    public static let tokenHuge = Self(rawValue: "token-huge")
    /// The token endpoint closes the connection without a response.
    public static let tokenNothing = Self(rawValue: "token-nothing")
    /// The token endpoint never responds.
    public static let tokenStall = Self(rawValue: "token-stall")
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
    /// The token endpoint responds with temporarily_unavailable.
    public static let tokenTemporarilyUnavailable = Self(rawValue: "token-temporarily-unavailable")
    /// The directory responds with 400.
    public static let directory400 = Self(rawValue: "directory-400")
    /// The directory responds with 401.
    public static let directory401 = Self(rawValue: "directory-401")
    /// The directory responds with 401 and requires claims.
    public static let directoryClaims = Self(rawValue: "directory-401-claims")
    /// The directory responds with 403.
    public static let directory403 = Self(rawValue: "directory-403")
    /// The directory responds with 403 because the tenant has no premium license.
    public static let directoryPremium = Self(rawValue: "directory-403-premium")
    /// The directory responds with 404.
    public static let directory404 = Self(rawValue: "directory-404")
    /// The directory responds with 404 ErrorNonExistentMailbox, without identifiers.
    public static let directoryMailbox = Self(rawValue: "directory-404-mailbox")
    /// A delta request with a token gets the response 410.
    public static let directory410 = Self(rawValue: "directory-410")
    /// The directory responds with 429 and Retry-After.
    public static let directory429 = Self(rawValue: "directory-429")
    /// The directory responds with 429 and the fields of a used-up quota.
    public static let directoryThrottled = Self(rawValue: "directory-429-quota")
    /// The directory responds with 500.
    public static let directory500 = Self(rawValue: "directory-500")
    /// The directory responds with 500 and errors within errors.
    public static let directoryNested = Self(rawValue: "directory-500-nested")
    /// The directory responds with 501.
    public static let directory501 = Self(rawValue: "directory-501")
    /// The directory responds with 502 without content.
    public static let directoryEmptyResponse = Self(rawValue: "directory-502")
    /// The directory responds with 503 and Retry-After.
    public static let directory503 = Self(rawValue: "directory-503")
    /// The directory responds with 504 in the shape of an error, without Retry-After.
    public static let directory504 = Self(rawValue: "directory-504")
    /// The directory responds with 504 and a gateway's web page.
    public static let directoryHTML = Self(rawValue: "directory-html")
    /// The directory responds with 400 and an empty code, "innererror" and "requestId".
    public static let directoryOddError = Self(rawValue: "directory-odd-error")
    /// The directory responds with half of a JSON text.
    public static let directoryHalfJSON = Self(rawValue: "directory-half-json")
    /// The directory responds with 10 GB.
    public static let directoryHuge = Self(rawValue: "directory-huge")
    /// The directory closes the connection without a response.
    public static let directoryNothing = Self(rawValue: "directory-nothing")
    /// The directory never responds.
    public static let directoryStall = Self(rawValue: "directory-stall")
    /// The directory's response breaks off.
    public static let directoryCut = Self(rawValue: "directory-cut")
    /// The directory's response arrives slowly, in small pieces.
    public static let directorySlow = Self(rawValue: "directory-slow")
    /// A list's next page is at another host.
    public static let directoryForeignNextLink = Self(rawValue: "directory-nextlink-foreign")
    /// A list's next page is the same page again.
    public static let directoryNextLinkLoop = Self(rawValue: "directory-nextlink-loop")
    /// A list's page is empty and has a next page.
    public static let directoryEmptyPage = Self(rawValue: "directory-empty-page")
    /// A request with a page token gets the response Directory_ExpiredPageToken.
    public static let directoryExpiredPageToken = Self(rawValue: "directory-expired-page-token")
    /// A request with a page token gets the response DirectoryPageTokenNotFoundException.
    public static let directoryPageTokenNotFound = Self(rawValue: "directory-page-token-not-found")
    /// A batch's responses arrive in another order.
    public static let directoryBatchOrder = Self(rawValue: "directory-batch-order")
    /// A batch's first item gets the response 429.
    public static let directoryBatch429 = Self(rawValue: "directory-batch-429")
    /// A batch's last response is missing.
    public static let directoryBatchMissing = Self(rawValue: "directory-batch-missing")

    /// All injected errors, in the order of the help.
    public static let all: [Self] = summaries.map(\.name)

    /// A short description of the error and its value; `nil` for an unknown name.
    public var summary: String? { Self.summaries.first { $0.name == self }?.summary }

    /// Whether a value may follow the name.
    public var takesValue: Bool { Self.summaries.first { $0.name == self }?.takesValue ?? false }

    private static let summaries: [(name: Self, takesValue: Bool, summary: String)] = [
        (.tokenHTML, false, "the token endpoint responds with a web page and status 200, as a captive portal does"),
        (.tokenHalfJSON, false, "the token endpoint responds with half of a JSON text"),
        (.tokenHuge, false, "the token endpoint responds with 10 GB"),
        (.tokenNothing, false, "the token endpoint closes the connection without a response"),
        (.tokenStall, false, "the token endpoint never responds"),
        (.token500, false, "the token endpoint responds with 500"),
        (.token503, false, "the token endpoint responds with 503"),
        (.token429, true, "the token endpoint responds with 429 and Retry-After; =SECONDS, =date, =none or any string"),
        (.tokenInvalidGrant, false, "the token endpoint responds with invalid_grant"),
        (.tokenInvalidClient, false, "the token endpoint responds with invalid_client"),
        (.tokenTemporarilyUnavailable, false, "the token endpoint responds with temporarily_unavailable"),
        (.directory400, true, "the directory responds with 400; =CODE instead of Request_BadRequest"),
        (.directory401, false, "the directory responds with 401"),
        (.directoryClaims, true, "the directory responds with 401 and requires claims; =JSON for others"),
        (.directory403, true, "the directory responds with 403; =CODE instead of Authorization_RequestDenied"),
        (.directoryPremium, false, "the directory responds with 403 because the tenant has no premium license"),
        (.directory404, true, "the directory responds with 404; =CODE instead of Request_ResourceNotFound"),
        (.directoryMailbox, false, "the directory responds with 404 ErrorNonExistentMailbox, without identifiers"),
        (
            .directory410, true,
            "a delta request with a token gets the response 410; =resyncRequired instead of syncStateNotFound"
        ),
        (.directory429, true, "the directory responds with 429 and Retry-After; =SECONDS, =date, =none or any string"),
        (
            .directoryThrottled, true,
            "the directory responds with 429 and the fields of a used-up quota; =SECONDS for Retry-After"
        ),
        (.directory500, false, "the directory responds with 500"),
        (.directoryNested, false, "the directory responds with 500 and errors within errors"),
        (.directory501, false, "the directory responds with 501"),
        (.directoryEmptyResponse, false, "the directory responds with 502 without content"),
        (.directory503, true, "the directory responds with 503 and Retry-After; =SECONDS, =date, =none or any string"),
        (.directory504, false, "the directory responds with 504 in the shape of an error, without Retry-After"),
        (.directoryHTML, false, "the directory responds with 504 and a gateway's web page"),
        (
            .directoryOddError, false,
            "the directory responds with 400 and an empty code, \"innererror\" and \"requestId\""
        ),
        (.directoryHalfJSON, false, "the directory responds with half of a JSON text"),
        (.directoryHuge, false, "the directory responds with 10 GB"),
        (.directoryNothing, false, "the directory closes the connection without a response"),
        (.directoryStall, false, "the directory never responds"),
        (.directoryCut, false, "the directory's response breaks off"),
        (.directorySlow, true, "the directory's response arrives slowly, in small pieces; =SECONDS for the whole"),
        (.directoryForeignNextLink, true, "a list's next page is at another host; =URL for which"),
        (.directoryNextLinkLoop, false, "a list's next page is the same page again"),
        (.directoryEmptyPage, false, "a list's page is empty and has a next page"),
        (.directoryExpiredPageToken, false, "a request with a page token gets the response Directory_ExpiredPageToken"),
        (
            .directoryPageTokenNotFound, false,
            "a request with a page token gets the response DirectoryPageTokenNotFoundException"
        ),
        (.directoryBatchOrder, false, "a batch's responses arrive in another order"),
        (.directoryBatch429, true, "a batch's first item gets the response 429; =SECONDS, =date, =none or any string"),
        (.directoryBatchMissing, false, "a batch's last response is missing"),
    ]
}
