import LodgePlatform
import HTTPExchange
import StrictJSON

/// A request of a batch.
struct BatchItem: Sendable, Equatable {
    /// The URL below the base, percent-encoded.
    var target: String
    var isAdvanced = false
    /// The permissions that the request needs, for the message of a 403.
    var permissions: [String] = []

    init(target: String, isAdvanced: Bool = false, permissions: [String] = []) {
        self.target = target
        self.isAdvanced = isAdvanced
        self.permissions = permissions
    }

    /// Creates the request of a plan.
    init(_ plan: QueryPlan) {
        self.init(target: plan.target, isAdvanced: plan.isAdvanced, permissions: plan.permissions)
    }
}

/// The responses of a batch, and whether any request was retried.
struct BatchResponse: Sendable {
    /// The responses in the order of the requests, each with its own status; `nil` for a missing one.
    var responses: [HTTPResponse?]
    /// The errors of requests that were sent individually, by their index.
    var errors: [Int: DirectoryError] = [:]
    var clientRequestID = ""
    var wasRetried = false

    /// Returns whether the service lacks the resource of a request.
    func isNotFound(_ index: Int) -> Bool {
        responses[index]?.status == 404 || errors[index]?.kind == .notFound
    }
}

extension DirectoryClient {
    /// Sends many requests, 20 at a time.
    ///
    /// Retries rejected ones without the others. If the service has no `$batch`, sends them individually.
    ///
    /// - Throws: ``DirectoryError`` if a batch as a whole fails; the errors of the transport and the authorization;
    ///   `CancellationError`.
    func batch(_ items: [BatchItem], budget: RetryBudget) async throws -> BatchResponse {
        var result = BatchResponse(responses: [HTTPResponse?](repeating: nil, count: items.count))
        for start in stride(from: 0, to: items.count, by: BatchRequest.maximumItems) {
            let end = min(start + BatchRequest.maximumItems, items.count)
            try await send(items, start..<end, budget, &result)
        }
        return result
    }

    /// Sends the requests of one batch until each has a response or the policy allows no more retries.
    private func send(
        _ items: [BatchItem], _ range: Range<Int>, _ budget: RetryBudget, _ result: inout BatchResponse
    ) async throws {
        var pending = Array(range)
        var retries = 0
        var hasRefreshed = false
        var token: String?
        while true {
            // Each request of a batch counts toward the quota.
            try await waitForRateLimit(pending.count)
            let body = BatchRequest.body(
                pending.map {
                    BatchRequest.item(id: String($0), target: items[$0].target, isAdvanced: items[$0].isAdvanced)
                })
            let response: Response
            do {
                response = try await self.response(
                    to: Request(
                        url: "\(base)/$batch", body: body,
                        permissions: pending.first.map { items[$0].permissions } ?? []
                    ), budget: budget, token: token)
            } catch let error as DirectoryError where error.isMissingResource {
                return try await sendSingly(items, pending, budget, &result)
            }
            result.clientRequestID = response.clientRequestID
            result.wasRetried = result.wasRetried || response.wasRetried
            let responses = try Self.responses(response)
            for index in pending {
                result.responses[index] = responses[String(index)]
                if let response = result.responses[index] { rateLimiter.note(response, now: now()) }
            }

            var repeated: Set<Int> = []
            token = nil
            let rejected = pending.filter { result.responses[$0]?.status == 401 }
            let claims = rejected.compactMap { result.responses[$0].flatMap(GraphErrorResponse.claims) }.first
            if hasRefreshed, let claims { try await discard(response.token, claims) }
            if !rejected.isEmpty, !hasRefreshed {
                hasRefreshed = true
                token = try await refreshedToken(claims: claims, rejected: response.token)
                if token != nil { repeated.formUnion(rejected) }
            }
            var delayed: [Int] = []
            var longest: HTTPRetryWait?
            for index in pending {
                guard let response = result.responses[index], retry.statuses.contains(response.status) else { continue }
                let requested = response.retryAfter(now: now())
                let delay = retry.delay(before: retries, requested: requested, random: random())
                // A request with a long delay does not delay the others.
                guard delay <= retry.maximumDelay else { continue }
                delayed.append(index)
                guard longest.map({ delay > $0.delay }) ?? true else { continue }
                longest = HTTPRetryWait(
                    for: name, retries, of: retry, delay: delay, isRequested: requested != nil, status: response.status)
            }
            if let wait = longest, retry.allows(retries, after: wait.delay, budget) {
                await willWait(wait)
                try await sleep(wait.delay)
                retries += 1
                repeated.formUnion(delayed)
            }
            guard !repeated.isEmpty else { return }
            result.wasRetried = true
            pending.removeAll { !repeated.contains($0) }
        }
    }

    /// Sends the requests individually, each with its own error.
    private func sendSingly(
        _ items: [BatchItem], _ indices: [Int], _ budget: RetryBudget, _ result: inout BatchResponse
    ) async throws {
        for index in indices {
            try await waitForRateLimit(1)
            let item = items[index]
            let request = Request(
                url: "\(base)/\(item.target)", accept: "*/*", isAdvanced: item.isAdvanced,
                permissions: item.permissions)
            do {
                let response = try await response(to: request, budget: budget)
                result.responses[index] = response.http
                result.clientRequestID = response.clientRequestID
                result.wasRetried = result.wasRetried || response.wasRetried
            } catch let error as DirectoryError {
                // This applies to every request.
                if error.isForAccount { throw error }
                result.errors[index] = error
            }
        }
    }

    /// Takes units from the rate limiter and waits until they are available.
    func waitForRateLimit(_ units: Int) async throws {
        let delay = rateLimiter.take(units, now: now())
        if delay > .zero { try await sleep(delay) }
    }

    /// Returns the responses by request identifier, because their order is undefined.
    private static func responses(_ batch: Response) throws(DirectoryError) -> [String: HTTPResponse] {
        var responses: [String: HTTPResponse] = [:]
        for element in try batch.list("responses").elements {
            guard let id = element["id"]?.string, let status = element["status"]?.value.number?.int64,
                (100...599).contains(status)
            else { throw batch.unreadable("a response in the batch has no identifier or no status") }
            var fields = HTTPFields()
            for member in element["headers"]?.value.object?.members ?? [] {
                fields.append(name: member.name, value: member.value.string ?? member.value.number?.literal ?? "")
            }
            let body = element["body"].map { Self.body($0, fields["Content-Type"]) } ?? Data()
            responses[id] = responses[id] ?? HTTPResponse(status: Int(status), fields: fields, body: body)
        }
        return responses
    }

    /// Returns the bytes of a body. A body that is not JSON is a string: unchanged, or in base64 if it is a picture.
    private static func body(_ slice: JSONSlice, _ type: String?) -> Data {
        guard let text = slice.string else { return slice.isNull ? Data() : Data(slice.rawBytes) }
        if let type, type.lowercased().hasPrefix("image/"), let bytes = Data(base64Encoded: text) { return bytes }
        return Data(text.utf8)
    }

    /// Sends one request by GET, or in a separate batch if its URL is too long for the service.
    func response(toLong request: Request, budget: RetryBudget) async throws -> Response {
        guard request.isAdvanced, request.url.utf8.count > QueryPlan.maximumURLLength, request.url.hasPrefix(base + "/")
        else { return try await response(to: request, budget: budget) }
        let target = String(ODataEscaping.url(request.url).dropFirst(base.count + 1))
        let batch = try await batch(
            [BatchItem(target: target, isAdvanced: true, permissions: request.permissions)], budget: budget)
        return try response(0, of: batch, permissions: request.permissions)
    }

    /// Returns the response to one request of a batch.
    ///
    /// - Throws: ``DirectoryError`` if it is an error or is missing.
    func response(_ index: Int, of batch: BatchResponse, permissions: [String]) throws(DirectoryError) -> Response {
        if let error = batch.errors[index] { throw error }
        guard batch.responses.indices.contains(index), let response = batch.responses[index] else {
            throw DirectoryError(
                .unreadable("the batch has no response to request \(index)"), clientRequestID: batch.clientRequestID)
        }
        guard response.status == 200 else {
            throw adapted(
                GraphErrorResponse.error(
                    for: response, clientRequestID: batch.clientRequestID, permissions: permissions, now: now()))
        }
        return Response(http: response, clientRequestID: batch.clientRequestID, wasRetried: batch.wasRetried)
    }
}
