import Platform
import HTTPExchange
import StrictJSON

/// A question of a batch.
struct BatchItem: Sendable, Equatable {
    /// The address below the base, percent-encoded.
    var target: String
    var isAdvanced = false
    /// What the question needs to be granted, for the words of a 403.
    var permissions: [String] = []
}

/// What a batch was answered, question by question, and whether any of it had to be asked for again.
struct BatchResponse: Sendable {
    /// In the order of the questions, each with a status of its own; nil for a question that was not answered.
    var responses: [HTTPResponse?]
    var clientRequestID = ""
    var wasRetried = false
}

extension GraphConnection {
    /// Asks many questions, 20 in a request. Those that the service turns away are asked again, without the others.
    ///
    /// - Throws: ``DirectoryError`` when a request as a whole fails; what the transport and the authorization throw;
    ///   `CancellationError`.
    func batch(_ questions: [BatchItem], budget: RetryBudget) async throws -> BatchResponse {
        var result = BatchResponse(responses: [HTTPResponse?](repeating: nil, count: questions.count))
        var start = 0
        while start < questions.count {
            let end = min(start + BatchRequest.maximumItems, questions.count)
            try await ask(questions, start..<end, budget, &result)
            start = end
        }
        return result
    }

    /// Asks the questions of one request until each is answered or no more may be waited.
    private func ask(
        _ questions: [BatchItem], _ range: Range<Int>, _ budget: RetryBudget, _ result: inout BatchResponse
    ) async throws {
        var pending = Array(range)
        var retries = 0
        var hasRenewed = false
        var token: String?
        while true {
            // Each question of a batch counts for the quota.
            let wait = pace.take(pending.count, now: now())
            if wait > .zero { try await sleep(wait) }
            let items = pending.map { index in
                BatchRequest.item(
                    id: String(index), target: questions[index].target, isAdvanced: questions[index].isAdvanced)
            }
            let answer = try await answer(
                to: Question(
                    address: "\(base)/$batch", body: BatchRequest.body(items),
                    permissions: pending.first.map { questions[$0].permissions } ?? []), budget: budget, token: token)
            result.clientRequestID = answer.clientRequestID
            result.wasRetried = result.wasRetried || answer.wasRetried
            let responses = try Self.responses(answer)
            for index in pending { result.responses[index] = responses[String(index)] }

            var again: Set<Int> = []
            token = nil
            let refused = pending.filter { result.responses[$0]?.status == 401 }
            if !refused.isEmpty, !hasRenewed {
                hasRenewed = true
                token = try await renewal(for: refused.compactMap { result.responses[$0] }, rejected: answer.token)
                if token != nil { again.formUnion(refused) }
            }
            var delays: [(index: Int, delay: Duration)] = []
            for index in pending {
                guard let response = result.responses[index], retry.retries(response.status) else { continue }
                let delay = retry.delay(retry: retries, asked: response.retryAfter(now: now()), random: random())
                // One that the service puts off for long does not hold up the others.
                if delay <= retry.maximumDelay { delays.append((index, delay)) }
            }
            if let delay = delays.map(\.delay).max(), retries < retry.maximumRetries, budget.take(delay) {
                try await sleep(delay)
                retries += 1
                again.formUnion(delays.map(\.index))
            }
            guard !again.isEmpty else { return }
            result.wasRetried = true
            pending.removeAll { !again.contains($0) }
        }
    }

    /// A token for questions whose token was refused, with the claims that any of them demands; nil when there is no other.
    private func renewal(for responses: [HTTPResponse], rejected: String) async throws -> String? {
        let claims = responses.compactMap(GraphFailure.claims).first
        do {
            let renewed = try await authorization(
                claims.map { .claims($0, rejected: rejected) } ?? .renewed(rejected: rejected))
            // The same token again would be refused again.
            return renewed.utf8.elementsEqual(rejected.utf8) ? nil : renewed
        } catch let refusal as DirectoryError where refusal.kind == .signInNeeded(claims: claims) {
            // What the service says of each question says more.
            return nil
        }
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
            let body = element["body"].map { Self.body($0, fields["Content-Type"]) } ?? Data()
            responses[id] = responses[id] ?? HTTPResponse(status: Int(status), fields: fields, body: body)
        }
        return responses
    }

    /// The bytes of an answer. A body that is no JSON comes as a text: as it is, or in base64 when it is a picture.
    private static func body(_ slice: JSONSlice, _ type: String?) -> Data {
        guard let text = slice.string else { return slice.isNull ? Data() : Data(slice.rawBytes) }
        if let type, type.lowercased().hasPrefix("image/"), let bytes = Data(base64Encoded: text) { return bytes }
        return Data(text.utf8)
    }

    /// One question, by GET, or by a batch of its own when its address would be too long for the service.
    func answer(toLong question: Question, budget: RetryBudget) async throws -> Answer {
        guard question.isAdvanced, question.address.utf8.count > QueryPlan.maximumAddress,
            question.address.hasPrefix(base + "/")
        else { return try await answer(to: question, budget: budget) }
        let batch = try await batch(
            [
                BatchItem(
                    target: String(ODataEscaping.address(question.address).dropFirst(base.count + 1)), isAdvanced: true,
                    permissions: question.permissions)
            ], budget: budget)
        return try self.answer(0, of: batch, permissions: question.permissions)
    }

    /// The answer to one question of a batch.
    ///
    /// - Throws: ``DirectoryError`` when it is a failure, or is missing.
    func answer(_ index: Int, of batch: BatchResponse, permissions: [String]) throws(DirectoryError) -> Answer {
        guard batch.responses.indices.contains(index), let response = batch.responses[index] else {
            throw DirectoryError(
                .unreadable("the batch has no answer to question \(index)"), clientRequestID: batch.clientRequestID)
        }
        guard response.status == 200 else {
            throw GraphFailure.error(
                for: response, clientRequestID: batch.clientRequestID, permissions: permissions, now: now())
        }
        return Answer(response: response, clientRequestID: batch.clientRequestID, wasRetried: batch.wasRetried)
    }
}
