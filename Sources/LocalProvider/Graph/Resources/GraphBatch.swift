import HTTPExchange
import LoopbackHTTP
import StrictJSON

// JSON batching: at most 20 requests, each with its own response.
extension GraphEndpoint {
    private struct Item {
        var id: String
        var request: GraphRequest
        var dependsOn: [String]
    }

    func batch(
        _ request: LoopbackRequest, _ outer: GraphRequest, _ caller: DirectoryPrincipal, _ wire: GraphWire
    ) -> LoopbackResponse {
        guard outer.method == "POST" else { return wire.failure(.wrongMethod) }
        let items: [Item]
        do throws(GraphFailure) {
            items = try Self.items(request, outer)
        } catch {
            return wire.failure(error)
        }
        var statuses: [String: Int] = [:]
        var responses: [JSONValue] = []
        for (position, item) in items.enumerated() {
            var charge: QuotaCharge?
            var injectedError: InjectedErrors.Entry?
            let response: GraphResponse
            if item.dependsOn.contains(where: { (statuses[$0] ?? 400) >= 400 }) {
                response = .failure(
                    GraphFailure(
                        status: 424, code: "FailedDependency", message: "A request that this one depends on failed."))
            } else if position == 0, wire.injectedError?.name == .directoryBatch429 {
                injectedError = wire.injectedError
                response = .failure(.throttled)
            } else {
                let taken = provider.charge(item.request.resourceUnits, to: wire.application)
                charge = taken
                response = taken.retryAfter == nil ? self.response(to: item.request, caller) : .failure(.throttled)
            }
            var object = wire.batchItem(id: item.id, response, charge)
            if let wait = injectedError?.retryAfter(now: provider.now), var headers = object["headers"]?.object {
                headers["Retry-After"] = .string(wait)
                object["headers"] = .object(headers)
            }
            statuses[item.id] = object["status"]?.number?.int64.map { Int($0) }
            responses.append(.object(object))
        }
        switch wire.injectedError?.name {
        case .directoryBatchOrder: responses.reverse()
        case .directoryBatchMissing: responses.removeLast()
        default: break
        }
        var response = wire.json(["responses": .array(responses)], status: 200)
        response.fields["Content-Type"] = "application/json"
        return response
    }

    private static func items(_ request: LoopbackRequest, _ outer: GraphRequest) throws(GraphFailure) -> [Item] {
        guard let body = try? JSONValue(parsing: request.body), let values = body.object?["requests"]?.array,
            !values.isEmpty
        else { throw .malformed("Unable to read JSON request payload.") }
        guard values.count <= 20 else {
            throw .malformed("Number of batch request steps exceeds the maximum value of 20.")
        }
        var items: [Item] = []
        var seen = Set<String>()
        for value in values {
            guard let object = value.object, let id = object["id"]?.string, !id.isEmpty,
                let url = object["url"]?.string, let method = object["method"]?.string, seen.insert(id).inserted
            else { throw .malformed("Each batch request needs a unique id, a method and a url.") }
            guard !url.contains("://") else {
                throw .malformed("The url of request '\(id)' must be relative to the version.")
            }
            let headers = object["headers"]?.object
            func header(_ name: String) -> String? {
                headers?.members.first { $0.name.lowercased() == name }?.value.string
            }
            let dependsOn = object["dependsOn"]?.array ?? []
            let names = dependsOn.compactMap(\.string)
            guard names.count == dependsOn.count, names.allSatisfy({ $0 != id && seen.contains($0) }) else {
                throw .malformed("Request '\(id)' depends on a request that does not precede it.")
            }
            if object["body"] != nil, header("content-type") == nil {
                throw .malformed("Request '\(id)' has a body without the Content-Type header.")
            }
            let path = url.prefix { $0 != "?" }
            let query = path.endIndex < url.endIndex ? String(url[url.index(after: path.endIndex)...]) : nil
            items.append(
                Item(
                    id: id,
                    request: GraphRequest(
                        method: method.uppercased(), path: path.hasPrefix("/") ? String(path) : "/\(path)",
                        query: query, consistencyLevel: header("consistencylevel"), base: outer.base,
                        prefersMinimal: header("prefer")?.lowercased().contains("return=minimal") ?? false),
                    dependsOn: names))
        }
        return items
    }
}
