import LodgePlatform
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON

/// The directory with Microsoft Graph's API.
///
/// It applies injected errors first, then checks token and quota, then returns the resources.
struct GraphEndpoint {
    let provider: ProviderState

    func response(to request: LoopbackRequest, _ note: inout RequestNote) -> LoopbackResponse {
        let version = request.path.hasPrefix("/beta/") ? "beta" : "v1.0"
        let graphRequest = GraphRequest(
            method: request.method == .head ? "GET" : request.method.rawValue,
            path: String(request.path.dropFirst(version.count + 1)), query: request.query,
            consistencyLevel: request.fields["ConsistencyLevel"], base: "\(provider.origin)/\(version)",
            prefersMinimal: Self.prefersMinimal(request.fields["Prefer"]))
        var wire = GraphWire(
            requestID: GraphWire.identifier(provider.configuration.randomBytes),
            clientRequestID: request.fields["client-request-id"], now: provider.now)
        return provider.directoryResponse(
            to: request, &note, accepts: { Self.accepts($0, graphRequest) },
            inject: { injected($0, graphRequest, wire) },
            reject: { rejection in
                switch rejection {
                case .missing: unauthenticated("Access token is empty.", wire)
                case .expired: unauthenticated("Lifetime validation failed, the token is expired.", wire)
                case .unknown: unauthenticated("CompactToken parsing failed with error code: 80049217", wire)
                case .challenged(let claims): claimsChallenge(JSONValue.object(claims).text(), wire)
                }
            },
            respond: { caller, authorization, injectedError in
                wire.application = authorization.clientID
                wire.injectedError = injectedError
                if graphRequest.path.lowercased() == "/$batch" { return batch(request, graphRequest, caller, wire) }
                let charge = provider.charge(graphRequest.resourceUnits, to: wire.application)
                wire.charge = charge
                let response = charge.retryAfter == nil ? response(to: graphRequest, caller) : .failure(.throttled)
                return wire.response(response, to: graphRequest)
            })
    }

    /// Returns the directory's response and applies its change.
    func response(to request: GraphRequest, _ caller: DirectoryPrincipal) -> GraphResponse {
        let now = provider.now
        let (contents, generation) = provider.state.withLock { ($0.directory, $0.generation) }
        let resources = GraphResources(
            contents: contents, withholdsNonBasicProperties: provider.configuration.withholdsNonBasicProperties,
            now: now, generation: generation)
        let response = resources.response(to: request, caller)
        switch response {
        case .restoration(let index, _):
            guard provider.state.withLock({ $0.directory.restore(index, now: now) }) else {
                return .failure(
                    .badRequest("Another object with the same value for property userPrincipalName already exists."))
            }
        case .purge(let index): provider.state.withLock { $0.directory.remove(index, isPermanent: true, now: now) }
        default: break
        }
        return response
    }

    /// Returns whether the field requests minimal content. See RFC 7240 section 4.2.
    private static func prefersMinimal(_ prefer: String?) -> Bool {
        prefer?.lowercased().filter { $0 != " " && $0 != "\"" }.split(separator: ",").contains("return=minimal")
            ?? false
    }

    private func unauthenticated(
        _ message: String, error: String = "invalid_token", parameters: String = "", _ wire: GraphWire
    ) -> LoopbackResponse {
        var response = wire.failure(.unauthenticated(message))
        response.fields["WWW-Authenticate"] =
            "Bearer realm=\"\", authorization_uri=\"\(provider.origin)/authorize\", client_id=\"local-graph\""
            + ", error=\"\(error)\"\(parameters)"
        return response
    }

    // MARK: Injected errors

    /// Returns whether an injected error applies. Some require a list, a page token, a delta token or a batch.
    private static func accepts(_ name: InjectedErrors.Name, _ request: GraphRequest) -> Bool {
        let path = request.path.lowercased()
        func has(_ option: String) -> Bool { request.options?.option(option) != nil }
        switch name {
        case .directoryBatchOrder, .directoryBatch429, .directoryBatchMissing: return path == "/$batch"
        case .directoryForeignNextLink, .directoryNextLinkLoop, .directoryEmptyPage:
            guard let last = path.split(separator: "/").last else { return false }
            return ["users", "delta", "directreports", "memberof", "transitivememberof"].contains(last)
                || last.hasPrefix("microsoft.graph.")
        case .directoryExpiredPageToken, .directoryPageTokenNotFound: return has("skiptoken")
        case .directory410:
            return path == "/users/delta" && (has("skiptoken") || has("deltatoken"))
        default: return true
        }
    }

    /// Returns the response for an injected error, or `nil` if the error changes the directory's response.
    private func injected(
        _ entry: InjectedErrors.Entry, _ request: GraphRequest, _ wire: GraphWire
    ) -> LoopbackResponse? {
        switch entry.name {
        case .directory401: return unauthenticated("This is an injected error.", wire)
        case .directoryClaims: return claimsChallenge(entry.value, wire)
        case .directory429, .directory503:
            var response = wire.failure(
                entry.name == .directory429
                    ? .throttled
                    : GraphFailure(status: 503, code: "serviceNotAvailable", message: "The service is not available."))
            response.fields["Retry-After"] = entry.retryAfter(now: provider.now)
            return response
        case .directoryThrottled:
            var response = wire.failure(.throttled)
            wire.throttle(&response, wait: entry.value == nil ? "5" : entry.retryAfter(now: provider.now) ?? "5")
            return response
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
        default: return Self.failure(of: entry, request).map { wire.failure($0) }
        }
    }

    /// Returns the error for an injected error that is a plain error response.
    private static func failure(of entry: InjectedErrors.Entry, _ request: GraphRequest) -> GraphFailure? {
        func coded(_ failure: GraphFailure) -> GraphFailure {
            var failure = failure
            if let code = entry.value { failure.code = code }
            return failure
        }
        switch entry.name {
        case .directory400: return coded(.badRequest("This is an injected error."))
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
        case .directory501: return .notImplemented
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

    /// Returns the response of continuous access evaluation: the token is no longer valid, and a new one must have
    /// these claims.
    private func claimsChallenge(_ claims: String?, _ wire: GraphWire) -> LoopbackResponse {
        let claims = claims ?? JSONValue.object(Grants.challenge(now: provider.now)).text()
        let encoded = Data(claims.utf8).base64EncodedString()
        return unauthenticated(
            "Continuous access evaluation resulted in challenge with result: InteractionRequired",
            error: "insufficient_claims", parameters: ", claims=\"\(encoded)\"", wire)
    }
}
