import LodgePlatform
import HTTPExchange
import LoopbackHTTP

extension InjectedErrors.Entry {
    /// Returns the value of Retry-After, or `nil` to omit the field.
    ///
    /// `date` is a date two seconds ahead, `none` omits the field, and any other value is sent unchanged, valid or not.
    func retryAfter(now: Int) -> String? {
        switch value {
        case nil: "2"
        case "none": nil
        case "date": HTTPDate.text(now + 2)
        case let value?: value.filter { $0.isASCII && !$0.isNewline }
        }
    }

    /// The response of an endpoint that fails before it reads the request, or `nil` for other errors.
    var gatewayResponse: LoopbackResponse? {
        switch name {
        case .directoryHTML:
            .html("<html><head><title>504 Gateway Time-out</title></head><body>504</body></html>\n", status: 504)
        case .directoryEmptyResponse: LoopbackResponse(status: 502)
        case .directoryNothing, .tokenNothing: LoopbackResponse(status: 200, injectedError: .closeWithoutResponse)
        case .directoryStall, .tokenStall, .metadataStall: LoopbackResponse(status: 200, injectedError: .stall)
        default: nil
        }
    }

    /// Changes the bytes of a response.
    func change(_ response: inout LoopbackResponse) {
        switch name {
        case .directoryCut: response.injectedError = .cut(bodyBytes: response.body.count / 2)
        case .directorySlow, .tokenSlow:
            let seconds = value.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } ?? 2
            response.injectedError = .drip(
                bytes: max(1, (response.body.count + 19) / 20),
                every: .milliseconds(Int(min(max(seconds, 0), 3_600) * 50)))
        case .directoryHalfJSON, .tokenHalfJSON: response.body = Data(response.body.prefix(response.body.count / 2))
        case .directoryHuge, .tokenHuge: response.injectedError = .endless(bytes: 10_000_000_000)
        default: break
        }
    }
}
