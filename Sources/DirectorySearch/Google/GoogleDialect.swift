import LodgePlatform
import HTTPExchange
import StrictJSON

extension ServiceDialect {
    /// The Directory API of Google.
    ///
    /// For an exceeded quota it returns 403 with a reason, where other services return 429.
    ///
    /// See [Limits and quotas](https://developers.google.com/workspace/admin/directory/v1/limits).
    static let google = ServiceDialect(
        name: "Google", namesRequests: false, explain: { explain(&$0, $1) }, applicationPermission: .delegation)

    private static func explain(_ error: inout DirectoryError, _ response: HTTPResponse) {
        guard response.body.first != nil,
            let failure = (try? JSONValue(parsing: response.body))?[path: "error"]?.object
        else { return }
        var reasons = ["errors", "details"].flatMap { failure[$0]?.array ?? [] }
            .compactMap { $0[path: "reason"]?.string }
        if let status = failure["status"]?.string { reasons.append(status) }
        error.code = reasons.first?.clipped(to: 256)
        error.message = failure["message"]?.string?.clipped(to: 4096)
        guard response.status == 403 else { return }
        if reasons.contains(where: quotaReasons.contains) {
            error.kind = .throttled
        } else if reasons.contains(where: configurationReasons.contains) {
            // The API is disabled in the program's project: a permission does not fix that.
            error.kind = .notPermitted(permissions: [])
        }
    }

    private static let quotaReasons: Set<String> = [
        "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "RATE_LIMIT_EXCEEDED",
    ]
    private static let configurationReasons: Set<String> = ["accessNotConfigured", "SERVICE_DISABLED"]
}
