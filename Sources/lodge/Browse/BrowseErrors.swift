import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore
import LodgePlatform

extension BrowseFailure {
    /// The delay after a throttled request without Retry-After.
    private static let defaultDelay = Duration.seconds(5)

    init(reporting error: any Error) {
        if let failure = error as? BrowseFailure {
            self = failure
            return
        }
        let words = CommandError(reporting: error)
        self.init(
            summary: words.message, reason: words.reason, hint: words.hint?.description, retryAfter: Self.delay(error),
            needsSignIn: words.status == .signInNeeded,
            isNetwork: words.status == .network || words.status == .unavailable)
    }

    static let notSignedIn = BrowseFailure(
        summary: "not signed in", hint: "sign in to an account", needsSignIn: true)

    private static func delay(_ error: any Error) -> Duration? {
        switch error {
        case let error as DirectoryError where error.kind == .throttled: error.retryAfter ?? defaultDelay
        case let error as DirectoryError where error.kind == .unavailable: error.retryAfter
        case let error as AccountStoreError:
            if case .retryLater(let delay?) = error.remedy, delay > .zero { delay } else { nil }
        default: nil
        }
    }
}

extension CommandError {
    init(_ error: TerminalError) {
        switch error {
        case .unusable(let name):
            self.init(
                .usage, "browse cannot use this terminal",
                reason: name.isEmpty
                    ? "TERM is not set"
                    : "TERM is \(name.debugDescription), which is unknown or cannot move its cursor",
                hint:
                    "set TERM to the name of your terminal, such as xterm-256color; \(run: "search") ada works without it"
            )
        case .none(let code):
            self.init(
                .usage, "browse needs a terminal",
                reason: "the session has no terminal: \(String(cString: strerror(code)))",
                hint: "to search without a terminal, run: \(run: "search") ada")
        case .background:
            self.init(
                .usage, "browse cannot use the terminal",
                reason: "it is running in the background",
                hint: "start it in the foreground, without &; \(run: "search") ada works in the background")
        case .system(let code): self.init(.failed, "cannot start browse", reason: String(cString: strerror(code)))
        }
    }
}
