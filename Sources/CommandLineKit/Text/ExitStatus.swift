/// How the program ends. Scripts rely on these numbers.
package enum ExitStatus: Int32, Sendable, CaseIterable {
    case done = 0
    /// An error that has no number of its own.
    case failed = 1
    /// The command line was not understood.
    case usage = 2
    case notFound = 3
    /// Someone has to sign in.
    case signInNeeded = 4
    /// The account may not do this.
    case notPermitted = 5
    /// The provider asks to come back later.
    case unavailable = 6
    case network = 7
    /// The settings are wrong.
    case settings = 8
    /// The store or the keyring cannot be used.
    case store = 9
    /// The program of `exec` cannot be run (as shells say it).
    case programUnusable = 126
    /// The program of `exec` is not there (as shells say it).
    case programMissing = 127
    /// Interrupted by the person (128 and SIGINT).
    case interrupted = 130

    /// What it means, in a phrase.
    package var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "another error"
        case .usage: "the command line was not understood"
        case .notFound: "nothing was found"
        case .signInNeeded: "somebody has to sign in"
        case .notPermitted: "not permitted"
        case .unavailable: "throttled or unavailable: come back later"
        case .network: "the network failed"
        case .settings: "the settings are wrong"
        case .store: "the store or the keyring cannot be used"
        case .programUnusable: "the program of exec cannot be run"
        case .programMissing: "the program of exec is not there"
        case .interrupted: "interrupted"
        }
    }
}
