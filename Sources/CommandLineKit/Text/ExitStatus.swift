/// The exit status of the program. Scripts rely on these numbers.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0, failed = 1, usage = 2, notFound = 3, signInNeeded = 4, notPermitted = 5, unavailable = 6, network = 7
    case settings = 8, store = 9
    /// The program of `exec` cannot be executed, or does not exist. The same numbers as in shells.
    case programUnusable = 126, programMissing = 127
    /// 128 plus SIGINT.
    case interrupted = 130

    /// The meaning as a phrase.
    package var meaning: String {
        switch self {
        case .done: "success"
        case .failed: "other error"
        case .usage: "invalid command line"
        case .notFound: "no result"
        case .signInNeeded: "a sign-in is required"
        case .notPermitted: "not permitted"
        case .unavailable: "throttled or unavailable: retry later"
        case .network: "network error, or the time limit is over"
        case .settings: "invalid settings"
        case .store: "the store or the keyring cannot be used"
        case .programUnusable: "the program of exec cannot be run"
        case .programMissing: "the program of exec was not found"
        case .interrupted: "interrupted by Ctrl-C; after another signal, 128 plus its number"
        }
    }
}
