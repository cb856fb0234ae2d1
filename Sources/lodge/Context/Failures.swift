import LodgePlatform
import CommandLineKit
import DirectorySearch
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

extension CommandError {
    /// Creates the message, hint and status for any error.
    ///
    /// - Parameters:
    ///   - type: the account type that the command line names, for the sign-in command.
    ///   - remedyText: the options that the commands of the hint repeat.
    init(reporting error: any Error, type: String? = nil, remedyText: RemedyText = RemedyText()) {
        self.init(failure: error)
        var remedyText = remedyText
        remedyText.type = type
        hint = hint.map(remedyText.hint)
        otherHint = otherHint.map(remedyText.hint)
    }

    /// Creates the error for a lock wait that `--timeout` ended. Returns `nil` for any other error.
    init?(lockTimeout error: any Error, _ deadline: ContinuousClock.Instant) {
        // The last delay that would pass the deadline is skipped.
        guard ContinuousClock.now > deadline - .milliseconds(100),
            (error as? AccountStoreError)?.kind == .storage(.busy) || (error as? StorageError)?.kind == .busy
        else { return nil }
        let busy = CommandError(failure: error)
        self.init(.network, "the time of --timeout is over", reason: busy.reason, hint: busy.hint)
    }

    /// The maximum size in bytes of claims in a command to copy.
    private static let maximumClaims = 4096

    /// Returns the sign-in command with the claims of a service, as one line of JSON quoted for the shell.
    ///
    /// The quoting must be safe, because the service controls this text.
    static func signIn(asking claims: String?) -> Hint {
        guard let claims, let object = (try? JSONValue(parsing: claims))?.object,
            case let text = JSONValue.object(object).text(), text.utf8.count <= maximumClaims
        else { return "\(AccountRemedy.signIn(type: nil))" }
        return "\(AccountRemedy.signIn(type: nil)) --claims '\(text.replacingBytes("'", with: "'\\''"))'"
    }

    private init(failure error: any Error) {
        switch error {
        case let error as CommandError: self = error
        case let error as UsageError: self.init(error)
        // A function of this command failed during a sign-in.
        case let error as AccountStoreError where error.kind == .callback && error.underlyingError != nil:
            self.init(failure: error.underlyingError ?? error)
        case let error as AccountStoreError where error.kind == .cancelled: self.init(.interrupted, "interrupted")
        case let error as AccountStoreError: self.init(account: error)
        case let error as DirectoryError: self.init(directory: error)
        case let error as OfflineIndexError:
            self.init(
                error.remedy == .sync ? .failed : .store, error.summary, reason: error.path, hint: "\(error.remedy)")
        case let error as StorageError: self.init(storage: error)
        case let error as SettingsError:
            self.init(
                .settings, "wrong settings", reason: error.description,
                hint: error.hint ?? "correct the file, or use another one with --settings")
        case let error as HTTPTransportError: self.init(transport: error)
        case is CancellationError: self.init(.interrupted, "interrupted")
        default: self.init(.failed, "unexpected error", reason: "\(error)")
        }
    }

    /// Creates the error of a transport.
    ///
    /// Only a missing response is a network error, because scripts retry network errors.
    private init(transport error: HTTPTransportError) {
        let (status, what): (ExitStatus, String) =
            switch error.kind {
            case .invalidRequest, .plainHTTPRefused: (.settings, "cannot send the request")
            case .responseTooLarge: (.failed, "cannot use the response")
            case .other: (.failed, "the request failed")
            default: (.network, "no response from the network")
            }
        self.init(status, what, reason: error.description, hint: Self.hint(error))
    }

    private static func hint(_ error: HTTPTransportError) -> Hint {
        switch error.kind {
        case .tls where error.reason.contains("pinned"):
            "if the server changed its key, correct pinnedKeys in the settings"
        case .tls: "for a private certificate authority, \(AccountRemedy.nameCertificateFile)"
        case .timedOut: "try again; if the network is slow, \(AccountRemedy.extendTimeLimit)"
        case .proxy: "check the proxy that is set in the environment"
        case .invalidRequest, .plainHTTPRefused: "correct the URL in the settings, or the file of --ca-file"
        case .redirectRefused, .intercepted:
            "check the URL; if this network has a sign-in page, open it in a browser"
        case .responseTooLarge: "request fewer results"
        case .other: "try again; if the error remains: \(run: "doctor")"
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
        case .timedOut, .redirectRefused: .signInNeeded
        case .network: .network
        case .cancelled: .interrupted
        case .unavailable, .tooManySignIns: .unavailable
        case .invalidAnswer, .refused, .callback: .failed
        case .storage, .key, .damagedRecord: .store
        }
    }

    private static func hint(_ error: AccountStoreError) -> Hint? {
        if error.kind == .denied, error.remedy == .nothing {
            return "\(AccountRemedy.signIn(type: nil)), and approve the request"
        }
        return switch error.remedy {
        case .retryLater(let delay?) where delay > .zero: "retry in \(delay.wholeSeconds) s"
        // Without a response, the provider may have rotated the refresh token.
        case .retryLater where error.kind == .network: "try again later"
        case .retryLater: "try again later; no account was changed"
        case .signInAgain: signIn(asking: error.provider?.claims)
        case .changeSettings: "correct the settings"
        case .repairStore: "\(run: "doctor")"
        case .askAdministrator: "ask the administrator of your organization"
        case .nothing: nil
        }
    }

    private init(directory error: DirectoryError) {
        let status: ExitStatus =
            switch error.kind {
            case .emptySearch, .invalidQuery, .notInCopy: .usage
            case .invalidURL: .settings
            case .signInNeeded: .signInNeeded
            case .notPermitted, .blockedByPolicy: .notPermitted
            case .notFound: .notFound
            case .throttled, .unavailable: .unavailable
            case .intercepted: .network
            default: .failed
            }
        self.init(
            status, error.summary, reason: error.displayMessage, hint: "\(error.remedy)", code: error.code,
            requestID: error.requestID ?? error.clientRequestID)
    }
}
