import HTTPExchange

extension HTTPResponse {
    /// How long the server asks to wait, in whole seconds, rounded up, at most a day; `nil` if it does not say.
    var retryAfterSeconds: Int? {
        retryAfter().map { Int($0.components.seconds) + ($0.components.attoseconds > 0 ? 1 : 0) }
    }
}
