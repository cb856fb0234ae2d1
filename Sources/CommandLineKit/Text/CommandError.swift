import LodgePlatform
import StrictJSON

/// An error of a command: the message and the exit status.
///
/// It never contains a secret.
package struct CommandError: Error, Sendable, Equatable {
    package var status: ExitStatus
    /// What failed: `cannot search the directory`.
    package var message: String
    /// Why: `the sign-in has expired`.
    package var reason: String?
    /// How to solve the problem, with the next command: `lodge sign-in graph`.
    package var hint: Hint?
    /// Another solution.
    package var otherHint: Hint?
    /// The provider's code: `invalid_grant`.
    package var code: String?
    /// The provider's request ID, for support.
    package var requestID: String?

    package init(
        _ status: ExitStatus, _ message: String, reason: String? = nil, hint: Hint? = nil, otherHint: Hint? = nil,
        code: String? = nil, requestID: String? = nil
    ) {
        self.status = status
        self.message = message
        self.reason = reason
        self.hint = hint
        self.otherHint = otherHint
        self.code = code
        self.requestID = requestID
    }

    package init(_ error: UsageError) { self.init(.usage, error.message, reason: error.reason, hint: Hint(error.hint)) }

    /// Returns the lines for the user: what failed and why, the hint, then the provider's code and request ID.
    ///
    /// Each is visible text on one line.
    package func lines(program: String) -> [String] {
        var first = program + ": " + message
        if let reason, !reason.isEmpty { first += ": " + reason }
        var lines = [first.visible]
        for (label, text) in [
            ("hint", hint?.description), ("hint", otherHint?.description), ("code", code), ("request id", requestID),
        ] {
            if let text, !text.isEmpty { lines.append((label + ": " + text).visible) }
        }
        return lines
    }

    /// The error as an object for `--output json`. Members without a value are omitted.
    package var json: JSONValue {
        var members: JSONObject = ["status": .number(JSONNumber(Int64(status.rawValue))), "message": .string(message)]
        for (name, text) in [
            ("reason", reason), ("hint", hint?.description), ("otherHint", otherHint?.description), ("code", code),
            ("requestId", requestID),
        ] {
            if let text, !text.isEmpty { members.append(name, .string(text)) }
        }
        return ["error": .object(members)]
    }
}
