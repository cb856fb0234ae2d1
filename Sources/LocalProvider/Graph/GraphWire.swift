import LodgePlatform
import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// The identifiers, the cost and the injected error of a response.
struct GraphWire {
    let requestID: String
    let clientRequestID: String
    let now: Int
    /// The injected error that changes the response.
    var injectedError: InjectedErrors.Entry?
    /// The cost, or `nil` before the request is parsed.
    var charge: QuotaCharge?
    /// The client identifier for the throttling field.
    var application = "00000000-0000-0000-0000-000000000000"

    static let contentType =
        "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8"

    init(requestID: String, clientRequestID: String?, now: Int) {
        self.requestID = requestID
        // Without an identifier from the client, the service returns its own.
        self.clientRequestID = clientRequestID.map { String($0.prefix(128)) } ?? requestID
        self.now = now
    }

    /// Returns a random UUID, or all zeros if there are no random bytes, because the identifier does not justify an
    /// error.
    static func identifier(_ randomBytes: @Sendable (Int) throws -> [UInt8]) -> String {
        let bytes = (try? randomBytes(16)) ?? []
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return UserTable.identifier(number(bytes.prefix(8)), number(bytes.dropFirst(8).prefix(8)))
    }

    var date: String {
        String(Date(timeIntervalSince1970: Double(now)).rfc3339.prefix(19))
    }

    // MARK: Responses

    func failure(_ failure: GraphFailure) -> LoopbackResponse {
        var response = json(errorJSON(failure), status: failure.status)
        response.fields["Content-Type"] = "application/json"
        if let location = failure.location { response.fields["Location"] = location }
        if failure.status == 429, let wait = charge?.retryAfter { throttle(&response, wait: String(wait)) }
        return response
    }

    func errorJSON(_ failure: GraphFailure) -> JSONObject {
        failure.json(requestID: requestID, clientRequestID: clientRequestID, date: date)
    }

    func throttle(_ response: inout LoopbackResponse, wait: String) {
        response.fields["Retry-After"] = wait
        response.fields["x-ms-throttle-scope"] =
            "Tenant_Application/ReadWrite/\(application)/\(ProviderConfiguration.tenantID)"
        response.fields["x-ms-throttle-information"] = "ResourceUnitLimitExceeded"
    }

    func json(_ object: JSONObject, status: Int) -> LoopbackResponse {
        var response = LoopbackResponse(status: status, body: Data(JSONValue.object(object).serialized()))
        response.fields = [
            "Content-Type": Self.contentType, "request-id": requestID, "client-request-id": clientRequestID,
            "OData-Version": "4.0", "Cache-Control": "no-cache",
        ]
        identify(&response)
        return response
    }

    private func identify(_ response: inout LoopbackResponse) {
        response.fields["request-id"] = requestID
        response.fields["client-request-id"] = clientRequestID
        response.fields["x-ms-resource-unit"] = String(charge?.units ?? 1)
        if let usedPart = charge?.usedPart { response.fields["x-ms-throttle-limit-percentage"] = usedPart }
    }

    func response(_ result: GraphResponse, to request: GraphRequest) -> LoopbackResponse {
        var response: LoopbackResponse
        switch result {
        case .failure(let failure): response = self.failure(failure)
        case .json(let object), .restoration(_, let object): response = json(object, status: 200)
        case .list(let object):
            response = json(changed(object, request), status: 200)
            if request.prefersMinimal, object["@odata.deltaLink"] != nil || request.path.lowercased() == "/users/delta"
            {
                response.fields["Preference-Applied"] = "return=minimal"
            }
        case .text(let text):
            response = .text(200, text)
            response.fields["Content-Type"] = "text/plain"
            identify(&response)
        case .content(let data, let type):
            response = LoopbackResponse(status: 200, fields: ["Content-Type": type], body: data)
            identify(&response)
        case .purge:
            response = LoopbackResponse(status: 204)
            identify(&response)
        }
        return response
    }

    // MARK: Injected errors

    /// Returns a list with the injected error in its link.
    private func changed(_ list: JSONObject, _ request: GraphRequest) -> JSONObject {
        var list = list
        let here = "\(request.base)\(request.path)" + (request.query.map { "?\($0)" } ?? "")
        switch injectedError?.name {
        case .directoryForeignNextLink:
            list["@odata.nextLink"] = .string(
                injectedError?.value ?? "https://graph.attacker.example/v1.0/users?$skiptoken=stolen")
        case .directoryNextLinkLoop: list["@odata.nextLink"] = .string(here)
        case .directoryEmptyPage:
            // The same query again. If the injected error is used up, the next request gets its page.
            let query = RawQuery.without(["again"], request.query) + ["again=\(requestID)"]
            list["value"] = []
            list["@odata.deltaLink"] = nil
            list["@odata.nextLink"] = .string("\(request.base)\(request.path)?\(query.joined(separator: "&"))")
        default: break
        }
        return list
    }

    func batchItem(id: String, _ response: GraphResponse, _ charge: QuotaCharge?) -> JSONObject {
        var headers: JSONObject = ["Cache-Control": "no-cache", "OData-Version": "4.0"]
        if let charge { headers.append("x-ms-resource-unit", .string(String(charge.units))) }
        if let usedPart = charge?.usedPart { headers.append("x-ms-throttle-limit-percentage", .string(usedPart)) }
        var status = 200
        var body: JSONValue?
        switch response {
        case .json(let object), .list(let object), .restoration(_, let object):
            headers.append("Content-Type", .string(Self.contentType))
            body = .object(object)
        case .failure(let failure):
            status = failure.status
            headers.append("Content-Type", "application/json")
            if let location = failure.location { headers.append("Location", .string(location)) }
            if status == 429, let wait = charge?.retryAfter { headers.append("Retry-After", .string(String(wait))) }
            body = .object(errorJSON(failure))
        case .text(let text):
            headers.append("Content-Type", "text/plain")
            body = .string(text)
        case .content(let data, let type):
            headers.append("Content-Type", .string(type))
            body = .string(data.base64EncodedString())
        case .purge: status = 204
        }
        var item: JSONObject = [
            "id": .string(id), "status": .integer(status), "headers": .object(headers),
        ]
        if let body { item.append("body", body) }
        return item
    }
}
