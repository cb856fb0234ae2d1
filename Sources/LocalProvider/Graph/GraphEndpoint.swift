import Platform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

// Graph on the wire: faults first, then the token, the quota and the directory.
extension ProviderState {
    func directory(_ request: LoopbackRequest, _ note: inout Note) -> LoopbackResponse {
        let version = request.path.hasPrefix("/beta/") ? "beta" : "v1.0"
        let graphRequest = GraphRequest(
            method: request.method == .head ? "GET" : request.method.rawValue,
            path: String(request.path.dropFirst(version.count + 1)), query: request.query,
            consistencyLevel: request.fields["ConsistencyLevel"], base: "\(issuer)/\(version)",
            prefersMinimal: Self.prefersMinimal(request.fields["Prefer"]))
        let fault = state.withLock { $0.faults.take("directory-") { Self.canPlay($0, graphRequest) } }
        note.fault = fault?.name
        var wire = GraphWire(
            requestID: GraphWire.identifier(configuration.randomBytes),
            clientRequestID: request.fields["client-request-id"],
            now: now)
        wire.fault = fault
        if let fault, let response = played(fault, graphRequest, wire) { return response }

        let caller: GraphPrincipal
        switch bearer(request.fields) {
        case .good(let authorization):
            caller = GraphPrincipal(
                person: authorization.person, permissions: Set(authorization.scopes.map(Scopes.permission)))
            wire.application = authorization.clientID
        case .missing: return unauthenticated("Access token is empty.", wire)
        case .expired: return unauthenticated("Lifetime validation failed, the token is expired.", wire)
        case .unknown: return unauthenticated("CompactToken parsing failed with error code: 80049217", wire)
        }
        if graphRequest.path.lowercased() == "/$batch" { return batch(request, graphRequest, caller, wire) }
        let charge = charge(graphRequest, to: wire.application)
        wire.charge = charge
        let answer = charge.retryAfter == nil ? answer(graphRequest, caller) : .failure(.throttled)
        return wire.response(to: answer, request: graphRequest)
    }

    /// The directory's answer; what it changes is changed.
    func answer(_ request: GraphRequest, _ caller: GraphPrincipal) -> GraphResponse {
        let now = now
        let (contents, generation) = state.withLock { ($0.directory, $0.generation) }
        var resources = GraphResources(contents)
        resources.withholdsNonBasicProperties = configuration.withholdsNonBasicProperties
        resources.now = now
        resources.generation = generation
        let answer = resources.answer(request, caller: caller)
        switch answer {
        case .restoration(let index, _):
            guard state.withLock({ $0.directory.restore(index, now: now) }) else {
                return .failure(
                    .badRequest("Another object with the same value for property userPrincipalName already exists."))
            }
        case .purge(let index): state.withLock { $0.directory.remove(index, isPermanent: true, now: now) }
        default: break
        }
        return answer
    }

    /// RFC 7240 section 4.2.
    private static func prefersMinimal(_ prefer: String?) -> Bool {
        prefer?.lowercased().filter { $0 != " " && $0 != "\"" }.split(separator: ",").contains("return=minimal")
            ?? false
    }

    private func unauthenticated(_ message: String, _ wire: GraphWire) -> LoopbackResponse {
        var response = wire.failure(.unauthenticated(message))
        response.fields["WWW-Authenticate"] =
            "Bearer realm=\"\", authorization_uri=\"\(issuer)/authorize\", client_id=\"local-graph\""
            + ", error=\"invalid_token\""
        return response
    }

    // MARK: Injected errors

    /// Whether a fault fits the request: some wait for a list, a page token, a delta token or a batch.
    private static func canPlay(_ fault: InjectedErrors.Name, _ request: GraphRequest) -> Bool {
        let path = request.path.lowercased()
        switch fault {
        case .directoryBatchOrder, .directoryBatch429, .directoryBatchMissing: return path == "/$batch"
        case .directoryForeignNextLink, .directoryNextLinkLoop, .directoryEmptyPage:
            guard let last = path.split(separator: "/").last else { return false }
            return ["users", "delta", "directreports", "memberof", "transitivememberof"].contains(last)
                || last.hasPrefix("microsoft.graph.")
        case .directoryExpiredPageToken, .directoryPageTokenNotFound: return has("skiptoken", request)
        case .directory410:
            return path == "/users/delta" && (has("skiptoken", request) || has("deltatoken", request))
        default: return true
        }
    }

    private static func has(_ option: String, _ request: GraphRequest) -> Bool {
        FormFields(parsing: request.query ?? "")?.fields.contains {
            [option, "$" + option].contains($0.name.lowercased())
        } ?? false
    }

    /// The answer to a fault that needs no directory; nil for those that change its answer.
    private func played(
        _ fault: InjectedErrors.Entry, _ request: GraphRequest, _ wire: GraphWire
    ) -> LoopbackResponse? {
        switch fault.name {
        case .directory401: return unauthenticated("A fault that is played.", wire)
        case .directoryClaims: return claimsChallenge(fault.value, wire)
        case .directory429, .directory503:
            var response = wire.failure(
                fault.name == .directory429
                    ? .throttled
                    : GraphFailure(status: 503, code: "serviceNotAvailable", message: "The service is not available."))
            if let text = RetryAfterText.field(fault.value, now: now) { response.fields["Retry-After"] = text }
            return response
        case .directoryThrottled:
            var response = wire.failure(.throttled)
            wire.throttle(&response, wait: RetryAfterText.field(fault.value ?? "5", now: now) ?? "5")
            return response
        case .directoryHTML:
            return .html("<html><head><title>504 Gateway Time-out</title></head><body>504</body></html>\n", status: 504)
        case .directoryEmptyAnswer: return LoopbackResponse(status: 502)
        case .directoryNothing: return LoopbackResponse(status: 200, fault: .closeWithoutAnswer)
        case .directoryStall: return LoopbackResponse(status: 200, fault: .stall)
        case .directoryMailbox:
            return .json(
                [
                    "error": [
                        "code": .string(GraphFailure.noMailbox.code),
                        "message": .string(GraphFailure.noMailbox.message),
                    ]
                ],
                status: 404)
        case .directoryNested:
            return wire.json(
                [
                    "error": [
                        "code": "internalServerError",
                        "message": "An internal server error occurred while processing the request.",
                        "innerError": [
                            "code": "internalServerErrorUncategorized", "message": "An unspecified error has occurred.",
                            "innerError": [
                                "code": "GenericFileOpenError", "message": "The workbook cannot be opened.",
                            ],
                        ],
                    ]
                ], status: 500)
        case .directoryOddError:
            return wire.json(
                [
                    "error": [
                        "code": "", "message": "Invalid filter clause",
                        "innererror": ["requestId": .string(wire.requestID), "date": .string(wire.date)],
                    ]
                ], status: 400)
        default: return Self.failure(of: fault, request).map { wire.failure($0) }
        }
    }

    /// The faults that are plain errors.
    private static func failure(of fault: InjectedErrors.Entry, _ request: GraphRequest) -> GraphFailure? {
        func coded(_ failure: GraphFailure) -> GraphFailure {
            var failure = failure
            if let code = fault.value { failure.code = code }
            return failure
        }
        switch fault.name {
        case .directory400: return coded(.badRequest("A fault that is played."))
        case .directory403: return coded(.denied)
        case .directoryPremium:
            return GraphFailure(
                status: 403, code: "Authentication_RequestFromNonPremiumTenantOrB2CTenant",
                message: "Neither tenant is B2C or tenant doesn't have premium license")
        case .directory404: return coded(.notFound("00000000-0000-0000-0000-000000000000"))
        case .directory410: return coded(.resync(request.base))
        case .directory500:
            return GraphFailure(
                status: 500, code: "internalServerError",
                message: "An internal server error occurred while processing the request.")
        case .directory501:
            return GraphFailure(
                status: 501, code: "NotImplemented", message: "This operation target is not yet supported.")
        case .directory504:
            return GraphFailure(
                status: 504, code: "UnknownError", message: "The gateway did not receive a response in time.")
        case .directoryExpiredPageToken: return .expiredPageToken
        case .directoryPageTokenNotFound:
            return GraphFailure(
                status: 400, code: "DirectoryPageTokenNotFoundException",
                message: "The specified page token value was not found.")
        default: return nil
        }
    }

    /// Continuous access evaluation: the token is good no more before its time, and a new one must have these claims.
    private func claimsChallenge(_ claims: String?, _ wire: GraphWire) -> LoopbackResponse {
        let usual = "{\"access_token\":{\"nbf\":{\"essential\":true,\"value\":\"\(now)\"}}}"
        let encoded = Data((claims ?? usual).utf8).base64EncodedString()
        var response = wire.failure(
            .unauthenticated("Continuous access evaluation resulted in challenge with result: InteractionRequired"))
        response.fields["WWW-Authenticate"] =
            "Bearer realm=\"\", authorization_uri=\"\(issuer)/authorize\", client_id=\"local-graph\""
            + ", error=\"insufficient_claims\", claims=\"\(encoded)\""
        return response
    }
}

extension GraphFailure {
    static let throttled = GraphFailure(status: 429, code: "TooManyRequests", message: "Please retry again later.")
}
