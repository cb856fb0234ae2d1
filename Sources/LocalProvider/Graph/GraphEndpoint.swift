#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HTTPTransport
import OAuth2AccountStore
import StrictJSON

// Graph on the wire: tokens, identifiers, batches, faults.
extension ProviderCore {
    func directory(_ request: LoopbackRequest, _ note: inout Note) -> LoopbackResponse {
        let version = request.path.hasPrefix("/beta/") ? "beta" : "v1.0"
        let fault = state.withLock { $0.faults.take("directory-") }
        note.fault = fault
        var wire = GraphWire(
            requestID: GraphWire.identifier(configuration.randomBytes),
            clientRequestID: request.fields["client-request-id"],
            now: now)
        if let fault, let response = played(fault, wire) { return response }

        let caller: GraphCaller
        switch bearer(request.fields) {
        case .good(let authorization):
            caller = GraphCaller(
                person: authorization.person, permissions: Set(authorization.scopes.map(Scopes.permission)))
        case .missing: return unauthenticated("Access token is empty.", wire)
        case .expired: return unauthenticated("Lifetime validation failed, the token is expired.", wire)
        case .unknown: return unauthenticated("CompactToken parsing failed with error code: 80049217", wire)
        }

        let graphRequest = GraphRequest(
            method: request.method == .head ? "GET" : request.method.rawValue,
            path: String(request.path.dropFirst(version.count + 1)), query: request.query,
            consistencyLevel: request.fields["ConsistencyLevel"], base: "\(issuer)/\(version)")
        if graphRequest.path.lowercased() == "/$batch" { return batch(request, graphRequest, caller, wire) }
        let answer = graph.answer(graphRequest, caller: caller)
        wire.fault = fault
        return wire.response(to: answer, request: graphRequest)
    }

    private func unauthenticated(_ message: String, _ wire: GraphWire) -> LoopbackResponse {
        var response = wire.failure(.unauthenticated(message))
        response.fields["WWW-Authenticate"] =
            "Bearer realm=\"\", authorization_uri=\"\(issuer)/authorize\", client_id=\"local-graph\""
            + ", error=\"invalid_token\""
        return response
    }

    /// The answer to a fault that needs no directory; nil for those that change its answer.
    private func played(_ fault: Faults.Name, _ wire: GraphWire) -> LoopbackResponse? {
        switch fault {
        case .directory401: return unauthenticated("A fault that is played.", wire)
        case .directory403: return wire.failure(.denied)
        case .directory404: return wire.failure(.notFound("00000000-0000-0000-0000-000000000000"))
        case .directory429, .directory503:
            var response = wire.failure(
                fault == .directory429
                    ? GraphFailure(status: 429, code: "TooManyRequests", message: "Please retry again later.")
                    : GraphFailure(status: 503, code: "serviceNotAvailable", message: "The service is not available."))
            response.fields["Retry-After"] = "2"
            return response
        case .directoryHTML:
            return .html("<html><head><title>504 Gateway Time-out</title></head><body>504</body></html>\n", status: 504)
        default: return nil
        }
    }

    // MARK: Batches

    /// JSON batching: at most 20 requests, answered each on its own.
    private func batch(
        _ request: LoopbackRequest, _ outer: GraphRequest, _ caller: GraphCaller, _ wire: GraphWire
    ) -> LoopbackResponse {
        guard outer.method == "POST" else {
            return wire.failure(
                GraphFailure(status: 405, code: "Request_BadRequest", message: "Specified HTTP method is not allowed."))
        }
        guard let body = try? JSONValue(parsing: request.body), let items = body.object?["requests"]?.array,
            !items.isEmpty
        else { return wire.failure(.malformed("Unable to read JSON request payload.")) }
        guard items.count <= 20 else {
            return wire.failure(.malformed("Number of batch request steps exceeds the maximum value of 20."))
        }
        var seen = Set<String>()
        var responses: [JSONValue] = []
        for item in items {
            guard let object = item.object, let id = object["id"]?.string, let url = object["url"]?.string,
                let method = object["method"]?.string, seen.insert(id).inserted
            else {
                return wire.failure(.malformed("Each batch request needs a unique id, a method and a url."))
            }
            let headers = object["headers"]?.object
            let level = headers?.members.first { $0.name.lowercased() == "consistencylevel" }?.value.string
            let path = url.prefix { $0 != "?" }
            let query = path.endIndex < url.endIndex ? String(url[url.index(after: path.endIndex)...]) : nil
            let inner = GraphRequest(
                method: method.uppercased(), path: path.hasPrefix("/") ? String(path) : "/\(path)", query: query,
                consistencyLevel: level, base: outer.base)
            responses.append(.object(wire.batchItem(id: id, graph.answer(inner, caller: caller))))
        }
        return wire.json(["responses": .array(responses)], status: 200)
    }
}

/// The identifiers and the faults that an answer carries.
private struct GraphWire {
    let requestID: String
    let clientRequestID: String
    let now: Int
    var fault: Faults.Name?

    init(requestID: String, clientRequestID: String?, now: Int) {
        self.requestID = requestID
        // Without one from the client the service repeats its own.
        self.clientRequestID = clientRequestID.map { String($0.prefix(128)) } ?? requestID
        self.now = now
    }

    /// A random UUID; all zeros when there is no randomness, because an identifier is not worth a failure.
    static func identifier(_ randomBytes: @Sendable (Int) throws -> [UInt8]) -> String {
        var bytes = (try? randomBytes(16)) ?? []
        bytes = Array(bytes.prefix(16)) + [UInt8](repeating: 0, count: max(0, 16 - bytes.count))
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }

    private var date: String {
        String(Date(timeIntervalSince1970: Double(now)).formatted(.iso8601).prefix(19))
    }

    func failure(_ failure: GraphFailure) -> LoopbackResponse { json(errorJSON(failure), status: failure.status) }

    private func errorJSON(_ failure: GraphFailure) -> JSONObject {
        failure.json(requestID: requestID, clientRequestID: clientRequestID, date: date)
    }

    func json(_ object: JSONObject, status: Int) -> LoopbackResponse {
        var response = LoopbackResponse(status: status, body: Data(JSONValue.object(object).serialized()))
        response.fields = [
            "Content-Type":
                "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8",
            "request-id": requestID, "client-request-id": clientRequestID, "OData-Version": "4.0",
            "x-ms-resource-unit": "1",
        ]
        return response
    }

    func response(to answer: GraphAnswer, request: GraphRequest) -> LoopbackResponse {
        var response: LoopbackResponse
        switch answer {
        case .failure(let failure): response = self.failure(failure)
        case .json(let object): response = json(object, status: 200)
        case .list(let object): response = json(disturbed(object, request), status: 200)
        case .text(let text):
            response = .text(200, text)
            response.fields["request-id"] = requestID
            response.fields["client-request-id"] = clientRequestID
        }
        switch fault {
        case .directoryCut: response.fault = .cut(bodyBytes: response.body.count / 2)
        case .directorySlow:
            response.fault = .drip(bytes: max(64, response.body.count / 20), every: .milliseconds(100))
        default: break
        }
        return response
    }

    /// A list with the fault of its link.
    private func disturbed(_ list: JSONObject, _ request: GraphRequest) -> JSONObject {
        var list = list
        let here = "\(request.base)\(request.path)" + (request.query.map { "?\($0)" } ?? "")
        switch fault {
        case .directoryForeignNextLink:
            list["@odata.nextLink"] = "https://graph.attacker.example/v1.0/users?$skiptoken=stolen"
        case .directoryNextLinkLoop: list["@odata.nextLink"] = .string(here)
        case .directoryEmptyPage:
            // The same query again: the next request gets the page that is due, if the fault is used up by then.
            let options = (request.query ?? "").split(separator: "&").filter { !$0.hasPrefix("again=") }
            let query = (options.map { String($0) } + ["again=\(requestID)"]).joined(separator: "&")
            list["value"] = []
            list["@odata.nextLink"] = .string("\(request.base)\(request.path)?\(query)")
        default: break
        }
        return list
    }

    func batchItem(id: String, _ answer: GraphAnswer) -> JSONObject {
        let type: JSONValue = ["Content-Type": "application/json"]
        switch answer {
        case .json(let object), .list(let object):
            return ["id": .string(id), "status": 200, "headers": type, "body": .object(object)]
        case .failure(let failure):
            return [
                "id": .string(id), "status": .number(JSONNumber(Int64(failure.status))), "headers": type,
                "body": .object(errorJSON(failure)),
            ]
        case .text(let text):
            return ["id": .string(id), "status": 200, "headers": ["Content-Type": "text/plain"], "body": .string(text)]
        }
    }
}
