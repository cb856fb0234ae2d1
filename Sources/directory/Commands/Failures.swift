import DirectorySearch
import HTTPTransport
import OAuth2
import OAuth2AccountStore

extension CommandError {
    /// What any failure means to the person at the command line.
    ///
    /// - Parameter type: the account type that the command line names, for the command that signs in.
    init(reporting error: any Error, type: String? = nil) {
        self.init(failure: error)
        // The commands below say what the command line is about; what the store says of itself stays as it is.
        if hint == Self.signIn, let type { hint = "\(Self.signIn) \(type)" }
    }

    private static let signIn = "directory sign-in"

    private init(failure error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(error)
        case let error as AccountStoreError: self.init(account: error)
        case let error as DirectoryError: self.init(directory: error)
        case let error as SettingsError:
            self.init(
                .settings, "wrong settings", reason: error.description,
                hint: error.hint ?? "correct the file, or name another one with --settings")
        case let error as HTTPTransportError:
            self.init(
                error.kind == .invalidRequest || error.kind == .plainHTTPRefused ? .settings : .network,
                "the network did not answer", reason: error.description, hint: Self.hint(error))
        case is CancellationError: self.init(.interrupted, "interrupted")
        default: self.init(.failed, "it did not work", reason: "\(error)")
        }
    }

    private static func hint(_ error: HTTPTransportError) -> String {
        switch error.kind {
        case .tls: "for a private certificate authority name its file with --ca-file"
        case .timedOut: "try again, with more time in --timeout if the network is slow"
        case .proxy: "check the proxy that is set in the environment"
        case .invalidRequest, .plainHTTPRefused: "correct the address in the settings, or the file of --ca-file"
        default: "check the network and try again"
        }
    }

    private init(account error: AccountStoreError) {
        self.init(
            Self.status(error), error.what, reason: error.reason, hint: error.hint ?? Self.hint(error),
            code: error.provider?.code.rawValue, requestID: error.provider?.correlationID)
    }

    private static func status(_ error: AccountStoreError) -> ExitStatus {
        switch error.kind {
        case .unknownType, .settings: .settings
        case .unknownAccount, .accountRemoved: .notFound
        case .signInNeeded: .signInNeeded
        case .denied: .notPermitted
        case .cancelled: .interrupted
        case .timedOut, .redirectRefused: .signInNeeded
        case .network: .network
        case .unavailable: .unavailable
        case .invalidAnswer, .refused: .failed
        case .storage, .key, .damagedRecord: .store
        }
    }

    private static func hint(_ error: AccountStoreError) -> String? {
        if error.kind == .denied { return "directory sign-in, and approve what it asks for" }
        return switch error.remedy {
        case .retryLater(let seconds?) where seconds > 0: "come back in \(seconds) s"
        case .retryLater: "try again later; the saved sign-in is untouched"
        case .signInAgain: signIn
        case .changeSettings: "correct the settings"
        case .repairStore: "directory status"
        case .nothing: nil
        }
    }

    private init(directory error: DirectoryError) {
        let status: ExitStatus =
            switch error.kind {
            case .emptySearch, .invalidQuery: .usage
            case .invalidAddress: .settings
            case .signInNeeded: .signInNeeded
            case .notPermitted: .notPermitted
            case .notFound: .notFound
            case .throttled, .unavailable: .unavailable
            default: .failed
            }
        var hint = error.remedy
        if status == .signInNeeded { hint = Self.signIn }
        if status == .usage, error.kind == .emptySearch { hint = "directory search ada" }
        self.init(
            status, error.summary, reason: error.displayMessage, hint: hint, code: error.code,
            requestID: error.requestID ?? error.clientRequestID)
    }
}
