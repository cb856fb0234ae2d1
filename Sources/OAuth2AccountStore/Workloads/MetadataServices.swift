import HTTPExchange
import LodgePlatform
import OAuth2Protocol
import Synchronization

/// The services of the platform that issue tokens without a secret, as the environment and one probe show them.
struct MetadataServices: Sendable {
    let dependencies: Dependencies
    let detected: DetectedService
    /// The path of Azure Arc's agent, which shows that the machine has it.
    var arcAgent = "/opt/azcmagent/bin/himds"
    /// The folder of the files that Azure Arc names.
    var arcFolder = ManagedIdentityRequest.challengeFolder

    private static let address = "http://169.254.169.254"
    private static let arcAddress = "http://localhost:40342/metadata/identity/oauth2/token"
    private static let azurePath = "/metadata/identity/oauth2/token"
    private static let googlePath = "/computeMetadata/v1/instance/service-accounts/default/token"

    static let what = "cannot use the managed identity"

    /// Returns a variable that is set and not empty.
    private func variable(_ name: String) -> String? {
        dependencies.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the endpoint of a source, or of the first source that the machine has.
    ///
    /// - Throws: ``AccountStoreError`` if the environment lacks a variable of the source, or the machine has no source.
    func endpoint(of source: ManagedIdentity.Source?) async throws -> ManagedIdentityRequest.Endpoint {
        if let endpoint = try configuredEndpoint(of: source) { return endpoint }
        let url = try imds()
        guard try await detected.hasIMDS(uptime: dependencies.uptimeSeconds, probe: { try await probe(url) }) else {
            throw Self.absent
        }
        return .imds(url)
    }

    /// Returns the endpoint of a source without a request, or `nil` if only a request can find the source.
    func configuredEndpoint(of source: ManagedIdentity.Source?) throws -> ManagedIdentityRequest.Endpoint? {
        switch source {
        case .imds: return .imds(try imds())
        case .appService:
            return .appService(try url("IDENTITY_ENDPOINT", source), header: try secret("IDENTITY_HEADER", source))
        case .azureArc: return .azureArc(try arc())
        case .cloudShell: return .cloudShell(try url("MSI_ENDPOINT", source))
        case .machineLearning:
            return .machineLearning(try url("MSI_ENDPOINT", source), secret: try secret("MSI_SECRET", source))
        case .google: throw Self.settings("the source google has its own request")
        case nil: return try detect()
        }
    }

    private func detect() throws -> ManagedIdentityRequest.Endpoint? {
        if variable("IDENTITY_ENDPOINT") != nil {
            if variable("IDENTITY_HEADER") != nil {
                guard variable("IDENTITY_SERVER_THUMBPRINT") == nil else {
                    throw Self.settings(
                        "the endpoint of Service Fabric is not supported, because its certificate is identified only by SHA-1",
                        hint: "use the grant clientCredentials with a certificate in clientAssertion")
                }
                return try configuredEndpoint(of: .appService)
            }
            if variable("IMDS_ENDPOINT") != nil { return .azureArc(try arc()) }
        }
        if variable("MSI_ENDPOINT") != nil {
            return try configuredEndpoint(of: variable("MSI_SECRET") == nil ? .cloudShell : .machineLearning)
        }
        return access(arcAgent, X_OK) == 0 ? .azureArc(try arc()) : nil
    }

    /// Returns whether Azure's metadata service is at a URL. It rejects a request without its header field with status
    /// 400; other services with this address, such as Docker's, have another status.
    private func probe(_ url: URL) async throws -> Bool {
        do {
            return try await transport.send(ManagedIdentityRequest.probe(url)).status == 400
        } catch is HTTPTransportError {
            return false
        }
    }

    /// The transport for services of the platform: none of them has a certificate.
    var transport: any HTTPTransport { dependencies.transport(nil) }

    /// The error of a machine without a source.
    static let absent = AccountStoreError(
        .network, what: what, reason: "this machine has no managed identity endpoint", remedy: .changeSettings,
        hint: "run the program on Azure, or set managedIdentity.source in the settings")

    static func settings(_ reason: String, hint: Hint? = nil) -> AccountStoreError {
        AccountStoreError(.settings, what: what, reason: reason, remedy: .changeSettings, hint: hint)
    }

    private func imds() throws -> URL {
        try metadata(overriddenBy: "AZURE_POD_IDENTITY_AUTHORITY_HOST", Self.azurePath)
    }

    /// Returns the URL of the token endpoint of Google's metadata service.
    func google() throws -> URL { try metadata(overriddenBy: "GCE_METADATA_HOST", Self.googlePath) }

    /// Returns the URL at which Google's metadata service shows that it is this service, without a token.
    func googleRoot() throws -> URL { try metadata(overriddenBy: "GCE_METADATA_HOST", "/") }

    /// Returns a URL of the metadata service. The variable replaces its address for tests, so it must be loopback.
    private func metadata(overriddenBy name: String, _ path: String) throws -> URL {
        let hint: Hint = "unset the variable \(name), which is only for tests on this machine"
        guard let text = variable(name) else { return try Self.url(Self.address + path, "the metadata service", hint) }
        let address = text.contains("://") ? text : "http://\(text)"
        let base = address.hasSuffix("/") ? String(address.dropLast()) : address
        let url = try Self.url(base + path, "the variable \(name)", hint)
        guard url.isLoopback else {
            throw Self.settings("the variable \(name) names \(url.shownHost), expected this machine", hint: hint)
        }
        return url
    }

    private func arc() throws -> URL {
        let name = "IDENTITY_ENDPOINT"
        return try variable(name) == nil
            ? Self.url(Self.arcAddress, "Azure Arc", Self.correction(of: name)) : url(name, .azureArc)
    }

    private func url(_ name: String, _ source: ManagedIdentity.Source?) throws -> URL {
        guard let text = variable(name) else { throw Self.missing(name, source) }
        return try Self.url(text, "the variable \(name)", Self.correction(of: name))
    }

    /// Returns the hint for a variable that the platform sets.
    private static func correction(of name: String) -> Hint {
        "correct or unset the variable \(name), which the platform sets"
    }

    private func secret(_ name: String, _ source: ManagedIdentity.Source?) throws -> Secret {
        guard let text = variable(name) else { throw Self.missing(name, source) }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.settings(
                "the variable \(name) has characters that a header field cannot contain",
                hint: Self.correction(of: name))
        }
        return Secret(text)
    }

    private static func missing(_ name: String, _ source: ManagedIdentity.Source?) -> AccountStoreError {
        settings(
            "the variable \(name) is not set, which the source \(source?.rawValue ?? "") needs",
            hint: "run the program on the platform of this source, or change managedIdentity.source in the settings")
    }

    /// Returns the URL of a service on this machine or on its link.
    private static func url(_ text: String, _ name: String, _ hint: Hint) throws -> URL {
        let url = URL(string: text, encodingInvalidCharacters: false)
        guard let url, ["http", "https"].contains(url.scheme?.lowercased()), url.isLoopback || url.isLinkLocal,
            url.user == nil, url.password == nil, url.fragment == nil
        else {
            // A value without a host can be a secret in the wrong variable.
            let found = url?.host() == nil ? "" : ", but of \(url?.shownHost ?? "")"
            throw settings("\(name) is not the URL of a loopback or link-local address\(found)", hint: hint)
        }
        return url
    }

    /// Sends a request, and repeats it as the service documents.
    func send(_ request: HTTPRequest, retrying policy: MetadataRetryPolicy) async throws -> HTTPResponse {
        var policy = policy
        while true {
            var response: HTTPResponse?
            do {
                let received = try await transport.send(request)
                response = received
                guard let delay = policy.delay(after: received) else {
                    if received.status != 400 { try received.checkIsFromServer(of: request.url) }
                    return received
                }
                try await (dependencies.retryDelay ?? dependencies.timer)(delay)
            } catch let error as HTTPTransportError where response == nil {
                switch error.kind {
                case .timedOut:
                    guard let delay = policy.delay(after: nil) else { throw error }
                    try await (dependencies.retryDelay ?? dependencies.timer)(delay)
                case .cannotConnect: throw Self.absent
                default: throw error
                }
            }
        }
    }
}

/// Whether this machine has Azure's metadata service. One probe is enough for the process; a negative result is valid for a minute,
/// because the network can start after the process.
final class DetectedService: Sendable {
    private static let negativeLifetime = 60.0

    private enum State {
        case unknown
        case present
        case absent(since: Double)
    }
    private let state = Mutex(State.unknown)

    func hasIMDS(uptime: Double, probe: () async throws -> Bool) async throws -> Bool {
        switch state.withLock({ $0 }) {
        case .present: return true
        case .absent(let since) where (0..<Self.negativeLifetime).contains(uptime - since): return false
        case .absent, .unknown: break
        }
        let isPresent = try await probe()
        state.withLock { $0 = isPresent ? .present : .absent(since: uptime) }
        return isPresent
    }
}
