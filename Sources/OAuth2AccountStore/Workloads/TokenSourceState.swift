import HTTPExchange
import LodgePlatform
import OAuth2Protocol

/// The source of an application's tokens, for diagnostics. It contains no secret and no token.
package struct TokenSourceState: Sendable {
    /// The source, its location and its application, in one line.
    package var detail: String
    /// The time of the server of the source, or `nil` without a request or a `Date` field.
    package var date: Date?
}

extension AccountType {
    /// Returns the source of the tokens; `nil` for a type with a registered client.
    ///
    /// Requests no token of Azure or Google. The token of another provider is fetched, to read its claims.
    ///
    /// - Parameter usesNetwork: Whether to check with a request that the source responds, and to run the command of a file.
    /// - Throws: ``AccountStoreError`` if the source cannot be used.
    package func tokenSourceState(
        _ dependencies: Dependencies, usesNetwork: Bool
    ) async throws -> TokenSourceState? {
        guard grant.usesTokenSource else { return nil }
        let inspection = SourceInspection(type: self, dependencies: dependencies, usesNetwork: usesNetwork)
        return switch grant {
        case .serviceAccount: try await inspection.serviceAccount()
        case .externalAccount: try await inspection.externalAccount()
        default: usesGoogleMetadata ? try await inspection.googleMetadata() : try await inspection.managedIdentity()
        }
    }
}

/// The inspection of the source of a type.
private struct SourceInspection {
    let type: AccountType
    let dependencies: Dependencies
    let usesNetwork: Bool

    private var services: MetadataServices {
        MetadataServices(dependencies: dependencies, detected: DetectedService())
    }

    /// Only checks URLs: it sends no request.
    private var exchange: GoogleExchange {
        GoogleExchange(
            send: { _ in throw CancellationError() }, time: { _ in dependencies.now().timeIntervalSince1970 },
            knownHosts: type.knownAuthorities)
    }

    private var account: AccountType.GoogleAccount {
        get throws {
            guard let account = type.googleAccount else { throw GoogleSource.error("the settings do not have a file") }
            return account
        }
    }

    // MARK: Services of the platform

    func managedIdentity() async throws -> TokenSourceState {
        let settings = type.managedIdentity ?? ManagedIdentity()
        let identity = settings.identity.map { "identity \($0.text)" }
        guard
            let endpoint = try usesNetwork
                ? await services.endpoint(of: settings.source) : services.configuredEndpoint(of: settings.source)
        else {
            return TokenSourceState(
                detail: "only a request can detect the source, because no variable names it; "
                    + (identity ?? "system-assigned identity"))
        }
        let isUser = endpoint.source == .cloudShell
        var state = TokenSourceState(
            detail: "\(settings.source == nil ? "detected " : "")\(endpoint.source.rawValue) at "
                + "\(endpoint.url.addressWithoutQuery)\(origin(of: endpoint.source)), "
                + (identity ?? (isUser ? "identity of the user" : "system-assigned identity")))
        guard usesNetwork else { return state }
        let response = try await response(
            to: ManagedIdentityRequest.probe(endpoint.url), what: ManagedIdentitySource.what,
            absent: MetadataServices.absent.hint)
        if endpoint.source == .imds, response.status != 400 {
            throw other(response, at: endpoint.url, than: "Azure's metadata service")
        }
        state.detail += "; it responds"
        return state
    }

    /// Returns the variable with the endpoint of a source, in parentheses.
    private func origin(of source: ManagedIdentity.Source) -> String {
        let name =
            switch source {
            case .imds: "AZURE_POD_IDENTITY_AUTHORITY_HOST"
            case .appService, .azureArc: "IDENTITY_ENDPOINT"
            case .cloudShell, .machineLearning: "MSI_ENDPOINT"
            case .google: "GCE_METADATA_HOST"
            }
        return (dependencies.environment[name] ?? "").isEmpty ? "" : " (\(name))"
    }

    func googleMetadata() async throws -> TokenSourceState {
        let url = try services.google()
        var state = TokenSourceState(
            detail: "google at \(url.addressWithoutQuery)\(origin(of: .google)), service account of the machine")
        guard usesNetwork else { return state }
        var request = ManagedIdentityRequest.get(
            try services.googleRoot(), [], ["Metadata-Flavor": "Google"], connecting: 3)
        request.timeout = .seconds(3)
        let response = try await response(
            to: request, what: ManagedIdentitySource.what, absent: MetadataServices.absent.hint)
        guard response.fields["Metadata-Flavor"] == "Google" else {
            throw other(response, at: url, than: "Google's metadata service")
        }
        state.detail += "; it responds"
        return state
    }

    private func other(_ response: HTTPResponse, at url: URL, than name: String) -> AccountStoreError {
        AccountStoreError(
            .network, what: ManagedIdentitySource.what,
            reason: "\(url.addressWithoutQuery) is not \(name): it responds with HTTP status \(response.status)",
            remedy: .changeSettings, hint: MetadataServices.absent.hint)
    }

    /// Sends a request without a secret. Any response that is not a web page or a redirect is of the source.
    private func response(to request: HTTPRequest, what: String, absent hint: Hint?) async throws -> HTTPResponse {
        let address = request.url.addressWithoutQuery
        let response: HTTPResponse
        do {
            response = try await services.transport.send(request)
        } catch let error as HTTPTransportError {
            var failure = AccountStoreError.wrapping(error, what: what)
            failure.reason = "\(address) does not respond: \(failure.reason)"
            failure.hint = hint ?? failure.hint
            throw failure
        }
        guard !(300..<400).contains(response.status), !response.isMarkup || response.status == 404 else {
            throw AccountStoreError(
                .network, what: what,
                reason: "\(address) responds with "
                    + (response.isMarkup ? "a web page" : "a redirect (HTTP status \(response.status))"),
                remedy: .changeSettings, hint: hint ?? "check the network: it may have a sign-in page")
        }
        return response
    }

    // MARK: Files of Google

    func serviceAccount() async throws -> TokenSourceState {
        let account = try account
        let key = try GoogleServiceAccountSource(exchange: exchange, account: account).key()
        let url = try exchange.url(key.tokenURI, "token_uri")
        return try await state(
            "\(file(account)): service account \(quoted(key.mail)), key \(key.keyID.map(quoted) ?? "without an ID"), "
                + subject(account), url)
    }

    func externalAccount() async throws -> TokenSourceState {
        let account = try account
        let source = GoogleExternalSource(
            exchange: exchange, account: account, services: services, tokenEndpoint: nil)
        let content = try source.file()
        let url = try source.endpoints(content).exchange
        let name: String
        var isLocal = false
        switch content.source {
        case .file(let path): (name, isLocal) = (path, true)
        case .url(let address, _): name = URL(string: address)?.addressWithoutQuery ?? "credential_source.url"
        case .command(let words): name = "the command \(words[0])"
        }
        var detail =
            "\(file(account)): external account of \(quoted(content.audience)), "
            + (content.serviceAccount.map { "service account \(quoted($0)), " } ?? "") + subject(account)
            + "; token of \(name)"
        if isLocal || usesNetwork {
            let token = try await source.subjectToken(content)
            detail += ": " + Self.summary(of: token, now: dependencies.now().timeIntervalSince1970)
        }
        return try await state(detail, url)
    }

    /// Returns issuer, subject, audience and expiry of a token, if it is a JWT.
    private static func summary(of token: Secret, now: Double) -> String {
        guard let assertion = try? FederatedAssertion(Array(token.value.utf8)) else { return "not a JWT" }
        return "\(assertion.summary), \(assertion.validity(at: now))"
    }

    private func state(_ detail: String, _ url: URL) async throws -> TokenSourceState {
        guard usesNetwork else { return TokenSourceState(detail: "\(detail); \(url.shownHost)") }
        var request = HTTPRequest(.get, url)
        request.timeout = ManagedIdentityRequest.timeout
        request.maximumResponseSize = ManagedIdentityRequest.maximumResponseSize
        let response = try await response(to: request, what: GoogleSource.what, absent: nil)
        return TokenSourceState(
            detail: "\(detail); \(url.shownHost) responds", date: response.fields["Date"].flatMap(HTTPDate.parse))
    }

    /// Returns the path and the mode of the file.
    private func file(_ account: AccountType.GoogleAccount) -> String {
        var status = stat()
        guard stat(account.file, &status) == 0 else { return account.file }
        return "\(account.file) (mode \(String(status.st_mode & 0o777, radix: 8)))"
    }

    private func subject(_ account: AccountType.GoogleAccount) -> String {
        account.subject.map { "for the user \(quoted($0))" } ?? "for no user"
    }
}
