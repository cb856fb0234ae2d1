import CommandLineKit
import HTTPExchange
import LodgePlatform
import StrictJSON

/// The pages of `request --paginate`: follows the link in each response.
struct RequestPages {
    /// The maximum size of a page in bytes. The link is at its end.
    static let maximumSize = 64 << 20
    private static let maximumPages = 100_000

    private let origin: Origin?
    private var seen: Set<Int> = []

    init(first url: URL) {
        origin = Origin(url.absoluteString)
        seen.insert(url.absoluteString.hashValue)
    }

    /// Returns the URL of the next page.
    ///
    /// It is the `@odata.nextLink` of a JSON object, otherwise the `Link` field with `rel="next"` (RFC 8288).
    ///
    /// Returns `nil` after the last page.
    ///
    /// - Throws: ``CommandError`` if the link points to another origin, which must not get the token, or repeats.
    mutating func next(after page: HTTPResponse) throws(CommandError) -> URL? {
        let inContent = (try? JSONSlice(parsing: page.body))?["@odata.nextLink"]?.string
        guard let link = inContent ?? page.fields.values(for: "Link").lazy.compactMap(Self.next).first else {
            return nil
        }
        guard let url = URL(string: link, relativeTo: page.url)?.absoluteURL else {
            throw CommandError(
                .failed, "cannot read the next page", reason: "its link is not a URL: \(UsageError.quoted(link))")
        }
        guard let origin, Origin(url.absoluteString) == origin else {
            throw CommandError(
                .failed, "cannot read the next page",
                reason: "its link points to \(url.host() ?? "another server"), which must not receive the token")
        }
        guard seen.count < Self.maximumPages, seen.insert(url.absoluteString.hashValue).inserted else {
            throw CommandError(
                .failed, "cannot read the next page", reason: "the links of the service form a loop",
                hint: "report this to the service")
        }
        return url
    }

    /// Returns the target of the first link with the relation `next` of a `Link` field.
    static func next(in field: String) -> String? {
        var rest = Substring(field)
        while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
            let target = rest[rest.index(after: open)..<close]
            rest = rest[rest.index(after: close)...]
            // The parameters end at the comma before the next target.
            let end = rest.firstIndex(of: "<") ?? rest.endIndex
            let parameters = rest[..<end].split(separator: ";").map { $0.filter { !" \t,".contains($0) || $0 == " " } }
            for parameter in parameters {
                let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.filter { !"\"\t".contains($0) } }
                guard parts.count == 2, parts[0].filter({ $0 != " " }).lowercased() == "rel" else { continue }
                if parts[1].lowercased().split(separator: " ").contains("next") { return String(target) }
            }
            rest = rest[end...]
        }
        return nil
    }
}

/// The retries of `request --retry`.
@MainActor struct RequestRetries {
    let limit: Int
    let sleep: @Sendable (Duration) async throws -> Void
    let report: ActivityReport

    private var policy: HTTPRetryPolicy {
        HTTPRetryPolicy(
            maximumRetries: limit, statuses: [429, 502, 503, 504], maximumDelay: .seconds(600),
            totalDelay: .seconds(3600))
    }

    /// Sends a request until the response is not a transient error or no retries remain.
    ///
    /// A busy service (429, 503) did not accept the request. After a gateway or connection error, only an idempotent
    /// method is retried (RFC 9110 section 9.2.2): any other request may have had its effect.
    func run<Result>(
        _ request: HTTPRequest, send: (HTTPRequest) async throws -> Result, response: (Result) -> HTTPResponse
    ) async throws -> Result {
        let policy = policy
        let budget = RetryBudget(policy.totalDelay)
        let service = request.url.host() ?? "the server"
        var retry = 0
        while true {
            let wait: HTTPRetryWait
            do {
                let result = try await send(request)
                let response = response(result)
                guard policy.statuses.contains(response.status), request.content?.isReplayable ?? true,
                    [429, 503].contains(response.status) || policy.methods.contains(request.method)
                else { return result }
                let requested = response.retryAfter(now: Date())
                let delay = policy.delay(before: retry, requested: requested, random: Double.random(in: 0...1))
                guard policy.allows(retry, after: delay, budget) else { return result }
                wait = HTTPRetryWait(
                    for: service, retry, of: policy, delay: delay, isRequested: requested != nil,
                    status: response.status)
            } catch let error as HTTPTransportError where policy.failures.contains(error.kind) {
                guard policy.methods.contains(request.method), request.content?.isReplayable ?? true else {
                    throw error
                }
                let delay = policy.delay(before: retry, random: Double.random(in: 0...1))
                guard policy.allows(retry, after: delay, budget) else { throw error }
                wait = HTTPRetryWait(for: service, retry, of: policy, delay: delay, isRequested: false)
            }
            report.write(wait)
            try await sleep(wait.delay)
            retry += 1
        }
    }
}
