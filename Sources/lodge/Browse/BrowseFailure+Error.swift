import CommandLineKit
import TerminalBrowser
import DirectorySearch
import OAuth2AccountStore

extension BrowseFailure {
    /// How long is waited where a service says that it is too much, and not for how long.
    private static let usualPause = Duration.seconds(5)

    /// A failure in the words that the command has for it.
    init(reporting error: any Error) {
        if let failure = error as? BrowseFailure {
            self = failure
            return
        }
        let words = CommandError(reporting: error)
        self.init(
            summary: words.message, reason: words.reason, hint: words.hint?.description, retryAfter: Self.pause(error),
            needsSignIn: words.status == .signInNeeded,
            isNetwork: words.status == .network || words.status == .unavailable)
    }

    /// Somebody has to sign in first.
    static let nobody = BrowseFailure(
        summary: "nobody is signed in", hint: "sign in to an account", needsSignIn: true)

    private static func pause(_ error: any Error) -> Duration? {
        switch error {
        case let error as DirectoryError where error.kind == .throttled: error.retryAfter ?? usualPause
        case let error as DirectoryError where error.kind == .unavailable: error.retryAfter
        case let error as AccountStoreError:
            if case .retryLater(let seconds?) = error.remedy, seconds > 0 { .seconds(seconds) } else { nil }
        default: nil
        }
    }
}
