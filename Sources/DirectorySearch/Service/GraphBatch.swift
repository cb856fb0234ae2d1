#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HTTPTransport
import StrictJSON

/// Several questions in one request.
///
/// [JSON batching](https://learn.microsoft.com/graph/json-batching)
enum BatchRequest {
    /// The most questions of one request.
    static let maximumItems = 20

    /// One question.
    ///
    /// - Parameter target: the address below the service's base, percent-encoded.
    static func item(id: String, target: String, isAdvanced: Bool) -> JSONValue {
        var item: JSONObject = ["id": .string(id), "method": "GET", "url": .string(ODataEscaping.batchAddress(target))]
        // The fields of the request around it are not those of the questions.
        if isAdvanced { item.append("headers", ["ConsistencyLevel": "eventual"]) }
        return .object(item)
    }

    /// The body of the request.
    static func body(_ items: [JSONValue]) -> JSONValue { ["requests": .array(items)] }
}

extension GraphConnection {
    /// A question of a batch.
    struct BatchQuestion: Sendable {
        /// The address below the base, percent-encoded.
        var target: String
        var isAdvanced = false
    }

    /// What a batch was answered, question by question, and whether any of it had to be asked for again.
    struct BatchAnswer: Sendable {
        /// In the order of the questions, each with a status of its own.
        var responses: [HTTPResponse]
        var clientRequestID: String
        var wasRetried = false
    }

    /// Asks many questions, 20 in a request. Those that the service turns away are asked again, without the others.
    ///
    /// - Throws: ``DirectoryError`` when a request as a whole fails or an answer is missing; what the transport and the
    ///   authorization throw; `CancellationError`.
    func batch(
        _ questions: [BatchQuestion], permissions: [String], budget: RetryBudget
    ) async throws -> BatchAnswer {
        var found = [HTTPResponse?](repeating: nil, count: questions.count)
        var pending = Array(questions.indices)
        var result = BatchAnswer(responses: [], clientRequestID: "")
        var retries = 0
        var hasRenewed = false
        while !pending.isEmpty {
            let chunk = Array(pending.prefix(BatchRequest.maximumItems))
            let answer = try await ask(questions, chunk, permissions, budget)
            result.clientRequestID = answer.clientRequestID
            result.wasRetried = result.wasRetried || answer.wasRetried
            let responses = try Self.responses(answer)
            var delay: Duration?
            var isRefused = false
            for index in chunk {
                guard let response = responses[String(index)] else {
                    throw answer.unreadable("the batch has no answer to question \(index)")
                }
                found[index] = response
                if retry.retries(response.status) {
                    let wait = retry.delay(
                        retry: retries, asked: response.retryAfter(now: now()), random: random())
                    delay = max(delay ?? .zero, wait)
                } else if response.status == 401, GraphFailure.claims(in: response) == nil {
                    isRefused = true
                }
            }
            var again: Set<Int> = []
            if isRefused, !hasRenewed {
                hasRenewed = true
                let renewed = try await authorization(.renewed(rejected: answer.token))
                if !renewed.utf8.elementsEqual(answer.token.utf8) {
                    again.formUnion(chunk.filter { found[$0]?.status == 401 })
                }
            }
            if let delay, retries < retry.maximumRetries, delay <= retry.maximumDelay, budget.take(delay) {
                try await sleep(delay)
                retries += 1
                again.formUnion(chunk.filter { found[$0].map { retry.retries($0.status) } ?? false })
            }
            if !again.isEmpty { result.wasRetried = true }
            pending = chunk.filter(again.contains) + pending.dropFirst(chunk.count)
        }
        result.responses = found.compactMap { $0 }
        return result
    }

    private func ask(
        _ questions: [BatchQuestion], _ chunk: [Int], _ permissions: [String], _ budget: RetryBudget
    ) async throws -> Answer {
        let items = chunk.map { index in
            BatchRequest.item(
                id: String(index), target: questions[index].target, isAdvanced: questions[index].isAdvanced)
        }
        return try await answer(
            to: Question(address: "\(base)/$batch", body: BatchRequest.body(items), permissions: permissions),
            budget: budget)
    }

    /// The answers by the identifiers of the questions: their order says nothing.
    private static func responses(_ answer: Answer) throws(DirectoryError) -> [String: HTTPResponse] {
        var responses: [String: HTTPResponse] = [:]
        for element in try answer.list("responses").elements {
            guard let id = element["id"]?.string, let status = element["status"]?.value.number?.int64,
                (100...599).contains(status)
            else { throw answer.unreadable("an answer of the batch has no identifier or no status") }
            var fields = HTTPFields()
            for member in element["headers"]?.value.object?.members ?? [] {
                fields.append(name: member.name, value: member.value.string ?? member.value.number?.literal ?? "")
            }
            // A body that is no JSON comes as a text: base64 for a picture.
            let body = element["body"].map { $0.string.map { Data($0.utf8) } ?? Data($0.rawBytes) } ?? Data()
            responses[id] = responses[id] ?? HTTPResponse(status: Int(status), fields: fields, body: body)
        }
        return responses
    }

    /// One question, by GET, or by a batch of its own when its address would be too long for the service.
    func answer(toLong question: Question, budget: RetryBudget) async throws -> Answer {
        guard question.isAdvanced, question.address.utf8.count > QueryPlan.maximumAddress,
            question.address.hasPrefix(base + "/")
        else { return try await answer(to: question, budget: budget) }
        let batch = try await batch(
            [
                BatchQuestion(
                    target: String(ODataEscaping.address(question.address).dropFirst(base.count + 1)), isAdvanced: true)
            ], permissions: question.permissions, budget: budget)
        guard let response = batch.responses.first else { throw DirectoryError(.unreadable("the batch is empty")) }
        guard response.status == 200 else {
            throw GraphFailure.error(
                for: response, clientRequestID: batch.clientRequestID, permissions: question.permissions, now: now())
        }
        return Answer(
            response: response, clientRequestID: batch.clientRequestID, wasRetried: batch.wasRetried)
    }
}
