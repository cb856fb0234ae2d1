import HTTPExchange
import LoopbackHTTP

// What the directories of other protocols share.
extension ProviderState {
    /// How one of them writes an error.
    typealias ErrorWriter = (_ status: Int, _ message: String) -> LoopbackResponse

    /// Answers with the faults of the directory that every protocol can have: statuses and broken answers.
    func answer(
        _ request: LoopbackRequest, _ note: inout Note, error: ErrorWriter,
        _ answer: (GraphPrincipal) -> LoopbackResponse
    ) -> LoopbackResponse {
        let fault = state.withLock { $0.faults.take("directory-") { Self.isCommon($0) } }
        note.fault = fault?.name
        if let fault, let response = played(fault, error) { return response }
        let message: String
        switch bearer(request.fields) {
        case .good(let authorization):
            let caller = GraphPrincipal(
                person: authorization.person, permissions: Set(authorization.scopes.map(Scopes.permission)))
            guard caller.readsOtherLists else { return error(403, "Not authorized to access this resource.") }
            var response = answer(caller)
            var wire = GraphWire(requestID: "", clientRequestID: nil, now: now)
            wire.fault = fault
            wire.disturb(&response)
            return response
        case .missing: message = "Login is required."
        case .expired: message = "The token has expired."
        case .unknown: message = "The token is invalid."
        }
        var response = error(401, message)
        response.fields["WWW-Authenticate"] = "Bearer realm=\"local provider\", error=\"invalid_token\""
        return response
    }

    private static func isCommon(_ fault: InjectedErrors.Name) -> Bool {
        [
            .directory401, .directory403, .directory404, .directory429, .directory500, .directory501, .directory503,
            .directoryEmptyAnswer, .directoryHTML, .directoryHalfJSON, .directoryHuge, .directoryNothing,
            .directoryStall, .directoryCut, .directorySlow,
        ].contains(fault)
    }

    private func played(_ fault: InjectedErrors.Entry, _ error: ErrorWriter) -> LoopbackResponse? {
        func retried(_ status: Int) -> LoopbackResponse {
            var response = error(status, "A fault that is played.")
            if let text = RetryAfterText.field(fault.value, now: now) { response.fields["Retry-After"] = text }
            return response
        }
        switch fault.name {
        case .directory401: return error(401, "A fault that is played.")
        case .directory403: return error(403, "A fault that is played.")
        case .directory404: return error(404, "A fault that is played.")
        case .directory429: return retried(429)
        case .directory500: return error(500, "A fault that is played.")
        case .directory501: return error(501, "A fault that is played.")
        case .directory503: return retried(503)
        case .directoryEmptyAnswer: return LoopbackResponse(status: 502)
        case .directoryHTML: return .html("<html><head><title>504</title></head><body>504</body></html>\n", status: 504)
        case .directoryNothing: return LoopbackResponse(status: 200, fault: .closeWithoutAnswer)
        case .directoryStall: return LoopbackResponse(status: 200, fault: .stall)
        default: return nil
        }
    }
}
