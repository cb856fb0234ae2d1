import Platform
import HTTPExchange
import StrictJSON

extension GraphConnection {
    /// A request below the base, or at an address that the service gave. All of them only read: they may be sent again.
    struct Question: Sendable {
        /// An absolute address.
        var address: String
        /// What is sent, by POST; nil for a GET.
        var body: JSONValue?
        /// The media type of what is sent.
        var contentType = "application/json"
        /// What is wanted.
        var accept = "application/json"
        /// Whether the query is an advanced one.
        var isAdvanced = false
        /// What the request needs to be granted, for the words of a 403.
        var permissions: [String]
    }

    /// An answer of status 200, and how it was come by.
    struct Answer: Sendable {
        var response: HTTPResponse
        var clientRequestID: String
        /// The token that was accepted.
        var token = ""
        /// Whether it came only after the service had turned the request away, or the connection had failed.
        var wasRetried = false

        /// The answer as an object.
        func object() throws(DirectoryError) -> JSONObject {
            let value: JSONValue
            do {
                value = try JSONValue(parsing: response.body)
            } catch {
                throw unreadable("it is not JSON")
            }
            guard let object = value.object else { throw unreadable("it is \(value.kind)") }
            return object
        }

        /// The answer as one person.
        func person() throws(DirectoryError) -> User {
            let object = try object()
            // A list or a failure with status 200 is no person.
            if case .array? = object["value"] { throw unreadable("it is a list, not one person") }
            if case .object? = object["error"] { throw unreadable("it is an error with status 200") }
            return User(json: object)
        }

        /// The answer as a number in words of its own (`text/plain`): `893`.
        func number() throws(DirectoryError) -> Int {
            let text = String(decoding: response.body.prefix(64), as: UTF8.self).unicodeScalars
                .split { $0.properties.isWhitespace || $0 == "\u{FEFF}" }.map(String.init).joined(separator: " ")
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else {
                throw unreadable("it is no number")
            }
            return number
        }

        /// The answer as an object with a list in it, each element an object.
        ///
        /// - Parameter absence: whether an answer of these members says without a list that there is nobody.
        func list(
            _ name: String = "value", absence: (JSONObject) -> Bool = { _ in false }
        ) throws(DirectoryError) -> (members: JSONObject, elements: [JSONSlice]) {
            let text: JSONListText?
            do {
                text = try JSONListText(parsing: response.body, list: name)
            } catch {
                throw unreadable("it is not JSON")
            }
            guard let text else { throw unreadable("it is no object") }
            guard let elements = text.elements else {
                guard absence(text.members) else { throw unreadable("the list \"\(name)\" is missing") }
                return (text.members, [])
            }
            if let other = elements.first(where: { !$0.isObject }) {
                throw unreadable("the list holds \(other.kind) instead of an object")
            }
            return (text.members, elements)
        }

        /// The error for an answer that is not in the form expected.
        func unreadable(_ reason: String) -> DirectoryError {
            GraphFailure.unreadable(response, reason, clientRequestID: clientRequestID)
        }
    }

    /// The budget of an operation that begins now.
    func makeBudget() -> RetryBudget { budget ?? RetryBudget(retry.totalDelay) }

    /// Asks, renewing the token once and waiting as the policy says.
    ///
    /// - Parameter token: the token to begin with; nil for the current one.
    /// - Throws: ``DirectoryError``; what the transport and the authorization throw; `CancellationError`.
    func answer(to question: Question, budget: RetryBudget, token: String? = nil) async throws -> Answer {
        let address = ODataEscaping.address(question.address)
        // Looked at here again, whoever built the address: below this line the token is added.
        guard let origin = Origin(address), origin == self.origin, let url = URL(string: address),
            url.absoluteString == address
        else { throw DirectoryError(.foreignNextLink(host: Origin(address)?.description ?? "an unreadable address")) }

        var token = if let token { token } else { try await authorization(.current) }
        var hasRenewed = false
        var retries = 0
        while true {
            try Task.checkCancellation()
            let identifier = makeRequestID().uuidString.lowercased()
            let request = request(url, question, token: token, identifier: identifier, retries: retries)
            let response: HTTPResponse
            do {
                response = try await transport.send(request)
            } catch let error as HTTPTransportError where retry.retries(error.kind) {
                let delay = retry.connectionDelay(retry: retries, random: random())
                guard retries < retry.maximumConnectionRetries, budget.take(delay) else { throw error }
                try await sleep(delay)
                retries += 1
                continue
            }
            if response.status == 200 {
                return Answer(
                    response: response, clientRequestID: identifier, token: token, wasRetried: retries > 0)
            }
            var error = GraphFailure.error(
                for: response, clientRequestID: identifier, permissions: question.permissions, now: now())
            if !dialect.namesRequests { error.clientRequestID = nil }
            dialect.explain(&error, response)

            if case .signInNeeded(let claims) = error.kind, !hasRenewed {
                hasRenewed = true
                let renewed: String
                do {
                    renewed = try await authorization(
                        claims.map { .claims($0, rejected: token) } ?? .renewed(rejected: token))
                } catch let refusal as DirectoryError where refusal.kind == error.kind {
                    // What the service said of it says more.
                    throw error
                }
                // The same token again would be refused again.
                guard !renewed.utf8.elementsEqual(token.utf8) else { throw error }
                token = renewed
                continue
            }
            guard retry.retries(response.status) || error.kind == .throttled else { throw error }
            let delay = retry.delay(retry: retries, asked: error.retryAfter, random: random())
            if error.retryAt == nil { error.retryAt = now().addingTimeInterval(delay.seconds) }
            guard retries < retry.maximumRetries, delay <= retry.maximumDelay, budget.take(delay) else { throw error }
            try await sleep(delay)
            retries += 1
            token = try await authorization(.current)
        }
    }

    private func request(
        _ url: URL, _ question: Question, token: String, identifier: String, retries: Int
    ) -> HTTPRequest {
        var request = HTTPRequest(question.body == nil ? .get : .post, url)
        if let body = question.body {
            request.body = Data(body.serialized())
            request.fields["Content-Type"] = question.contentType
        }
        request.fields["Accept"] = question.accept
        // A transport that signs puts its own in this place.
        request.fields["Authorization"] = "Bearer " + token
        if dialect.namesRequests { request.fields["client-request-id"] = identifier }
        if question.isAdvanced { request.fields["ConsistencyLevel"] = "eventual" }
        if retries > 0, dialect.namesRequests { request.fields["Retry-Attempt"] = String(retries) }
        request.timeout = timeout
        request.maximumResponseSize = maximumAnswerSize
        request.redirects = .none
        return request
    }
}
