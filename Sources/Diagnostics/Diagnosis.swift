import OAuth2AccountStore
import Platform
import HTTPExchange
import OAuth2Protocol

/// What keeps sign-ins from working, and what mends it.
public struct Diagnosis: Sendable {
    /// What is looked at, in the order of looking.
    public enum Check: String, Sendable, CaseIterable {
        /// The settings, and the secrets and files that they name.
        case settings
        /// The proxy of the environment.
        case proxy
        /// Where the records are.
        case store
        /// Where their key is.
        case key
        /// The locks between processes.
        case locks
        /// The kept sign-ins.
        case accounts
        /// The port that the browser comes back to.
        case redirect
        /// The way to the provider, TLS included.
        case network
        /// What the provider says of itself.
        case discovery
        /// This machine's clock.
        case clock
    }

    /// How a thing is.
    public enum State: String, Sendable, Equatable {
        /// As it should be.
        case ok
        /// It works, and somebody should know of it.
        case warning
        /// Something does not work.
        case problem
    }

    /// One thing that was looked at.
    public struct Finding: Sendable, Equatable {
        /// What was looked at.
        public var check: Check
        /// The account type or the account that it is about; nil when it is about all.
        public var subject: String?
        /// How it is.
        public var state: State
        /// What was found. May hold text of others: make control characters visible before showing it.
        public var detail: String
        /// The line that mends it; nil when nothing is to be mended, or ``failure`` says it.
        public var remedy: Hint?
        /// The failure that a use would end with; there for every problem.
        public var failure: AccountStoreError?

        init(
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
            let what = "cannot look at the \(check.rawValue)"
            let failure =
                AccountStoreError.wrapping(error, what: what) as? AccountStoreError
                ?? AccountStoreError(.invalidAnswer, what: what, reason: "\(type(of: error))", remedy: .nothing)
            self.init(check, .problem, of: subject, failure.reason, failure: failure)
        }
    }

    /// What was found, by check and then in the order of the settings.
    public internal(set) var findings: [Finding] = []

    /// What does not work.
    public var problems: [Finding] { findings.filter { $0.state == .problem } }

    /// No findings yet.
    public init() {}

    /// Looks at everything. No account is changed, and nothing secret is sent. A store that does not exist yet is not made.
    ///
    /// - Parameters:
    ///   - settings: the account types.
    ///   - storage: where the records are.
    ///   - custody: who keeps the key; nil: the place that the storage remembers, among `keyLocations`.
    ///   - keyLocations: where the key may be; nil: where the storage remembers.
    ///   - dependencies: the outside world.
    ///   - type: the account type to look at; nil: all.
    ///   - usesNetwork: whether providers are asked.
    /// - Throws: `CancellationError`; every other failure is a finding.
    public static func examine(
        settings: Settings, storage: any AccountStorage, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies, type: String? = nil, usesNetwork: Bool = true
    ) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        let types = settings.types.filter { type == nil || $0.name == type }
        diagnosis.look(at: types, settings, dependencies)
        try await diagnosis.lookAtProxy(dependencies, towards: usesNetwork ? types : [])
        if diagnosis.isMissing(storage) {
            diagnosis.addNobody()
        } else if try await diagnosis.isUsable(storage) {
            try await diagnosis.look(at: storage, custody, keyLocations, settings, dependencies, type: type)
        }
        for type in types { diagnosis.lookAtRedirect(of: type) }
        guard usesNetwork else { return diagnosis }
        let reports = try await withThrowingTaskGroup(of: (Int, [Finding]).self) { group in
            for (number, type) in types.enumerated() {
                group.addTask { (number, try await Self.ask(type, dependencies)) }
            }
            var reports: [(Int, [Finding])] = []
            for try await report in group { reports.append(report) }
            return reports
        }
        let asked = reports.sorted { $0.0 < $1.0 }.flatMap(\.1)
        for check in Check.allCases { diagnosis.findings += asked.filter { $0.check == check } }
        return diagnosis
    }

    /// Looks at what can be looked at without settings, where there are none or they are wrong: the proxy's address, the store, its
    /// key, the locks and the sign-ins.
    ///
    /// - Parameter failure: why there are no settings; it becomes the first finding.
    /// - Throws: `CancellationError`; every other failure is a finding.
    public static func examine(
        without failure: any Error, storage: any AccountStorage, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies
    ) async throws -> Diagnosis {
        var diagnosis = Diagnosis()
        diagnosis.add(Finding(.settings, failing: failure))
        try await diagnosis.lookAtProxy(dependencies, towards: [])
        if diagnosis.isMissing(storage) {
            diagnosis.addNobody()
        } else if try await diagnosis.isUsable(storage) {
            try await diagnosis.look(at: storage, custody, keyLocations, nil, dependencies, type: nil)
        }
        return diagnosis
    }

    mutating func add(_ finding: Finding) { findings.append(finding) }
}
