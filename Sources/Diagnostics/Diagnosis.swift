import OAuth2AccountStore
import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// The results of checks for sign-in problems, with the hints to fix them.
package struct Diagnosis: Sendable {
    /// The checks, in their order.
    package enum Check: String, Sendable, CaseIterable {
        /// The settings, and the secrets and files that they name.
        case settings
        /// The proxy of the environment.
        case proxy
        /// The storage of the records.
        case store
        /// The key of the records.
        case key
        /// The locks between processes.
        case locks
        /// The accounts.
        case accounts
        /// The redirect port.
        case redirect
        /// The connection to the provider, including TLS.
        case network
        /// The provider's metadata.
        case discovery
        /// The client ID, the redirect URI and the scopes, as far as the provider checks them without a sign-in.
        case client
        /// The clock of this machine.
        case clock
        /// The background process, which the program checks itself.
        case agent
    }

    /// The result of a check.
    package enum State: String, Sendable, Equatable {
        /// No problem.
        case ok
        /// It works, but something needs attention.
        case warning
        /// Something does not work.
        case problem
    }

    /// The result of one check.
    package struct Finding: Sendable, Equatable {
        /// The check.
        package var check: Check
        /// The account type or account; `nil` for all.
        package var subject: String?
        /// The result.
        package var state: State
        /// The explanation. It may contain text of a provider: escape control characters before you print it.
        package var detail: String
        /// The hint for fixing the problem.
        package var remedy: Hint?
        /// The error that using the component would throw. Set for every problem.
        package var failure: AccountStoreError?

        package init(
            _ check: Check, _ state: State, of subject: String? = nil, _ detail: String, remedy: Hint? = nil,
            failure: AccountStoreError? = nil
        ) {
            self.check = check
            self.subject = subject
            self.state = state
            self.detail = detail
            self.remedy = remedy ?? failure?.hint
            self.failure = failure
        }

        init(_ check: Check, of subject: String? = nil, failing error: any Error) {
            let what = "cannot check the \(check.rawValue)"
            let failure = AccountStoreError.wrapping(error, what: what)
            self.init(check, .problem, of: subject, failure.reason, failure: failure)
        }
    }

    /// The findings, by check and then in the order of the settings.
    package internal(set) var findings: [Finding] = []

    /// The findings that are problems.
    package var problems: [Finding] { findings.filter { $0.state == .problem } }

    /// Creates a diagnosis without findings.
    package init() {}

    /// Checks settings, store, key, locks, accounts and providers.
    ///
    /// Changes no account, creates no store and sends no secret.
    ///
    /// - Parameters:
    ///   - settings: The account types.
    ///   - storage: The storage of the records.
    ///   - custody: The key storage. If `nil`, the location in the records selects one of `keyLocations`.
    ///   - keyLocations: The possible key locations. If `nil`, only the location in the records is checked.
    ///   - dependencies: Clock, network and other parts of the environment.
    ///   - type: The account type to check; `nil` for all.
    ///   - usesNetwork: Whether to send requests to the providers.
    /// - Throws: `CancellationError`. Every other error becomes a finding.
    package static func examine(
        settings: Settings, storage: any AccountStorage, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies, type: String? = nil, usesNetwork: Bool = true
    ) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        let types = settings.types.filter { type == nil || $0.name == type }
        try await diagnosis.checkSettings(settings, types, dependencies, type: type)
        try await diagnosis.checkProxy(dependencies, towards: usesNetwork ? types : [])
        try await diagnosis.checkStore(storage, custody, keyLocations, settings, dependencies, type: type)
        for type in types { diagnosis.checkRedirect(of: type) }
        guard usesNetwork else {
            for type in types {
                diagnosis.findings += try await Self.source(of: type, dependencies, usesNetwork: false)
            }
            return diagnosis
        }
        let reports = try await withThrowingTaskGroup(of: (Int, [Finding]).self) { group in
            for (number, type) in types.enumerated() {
                group.addTask { (number, try await Self.provider(type, dependencies)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let found = reports.sorted { $0.0 < $1.0 }.flatMap(\.1)
        for check in Check.allCases { diagnosis.findings += found.filter { $0.check == check } }
        return diagnosis
    }

    /// Checks the parts that need no valid settings: proxy, store, key, locks and accounts.
    ///
    /// - Parameter failure: The reason why the settings are missing, which becomes the first finding.
    /// - Throws: `CancellationError`. Every other error becomes a finding.
    package static func examine(
        without failure: any Error, storage: any AccountStorage, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies
    ) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        diagnosis.add(.settings, failing: failure)
        try await diagnosis.checkProxy(dependencies, towards: [])
        try await diagnosis.checkStore(storage, custody, keyLocations, nil, dependencies, type: nil)
        return diagnosis
    }

    mutating func add(
        _ check: Check, _ state: State, of subject: String? = nil, _ detail: String, remedy: Hint? = nil,
        failure: AccountStoreError? = nil
    ) {
        findings.append(Finding(check, state, of: subject, detail, remedy: remedy, failure: failure))
    }

    mutating func add(_ check: Check, of subject: String? = nil, failing error: any Error) {
        findings.append(Finding(check, of: subject, failing: error))
    }
}
