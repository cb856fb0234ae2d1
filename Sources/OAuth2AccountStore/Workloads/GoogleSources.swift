import HTTPExchange
import LodgePlatform
import OAuth2Protocol

/// Sends the requests of a source to Google, and knows the time of its servers.
struct GoogleExchange: Sendable {
    let send: @Sendable (HTTPRequest) async throws -> HTTPResponse
    /// Returns the time of a server in seconds since 1970.
    let time: @Sendable (URL) -> Double
    /// The hosts outside `googleapis.com` that may get an assertion.
    let knownHosts: [String]

    /// Returns the URL of an endpoint.
    ///
    /// - Throws: ``AccountStoreError`` unless it is https under `googleapis.com` or on a host of the settings. The author of
    ///   the file must not choose the receiver of an assertion for Google.
    func url(_ text: String, _ name: String) throws -> URL {
        let url: URL
        do throws(OAuth2Error) {
            url = try EndpointURL.check(text, name: name, allowsLoopbackHTTP: true)
        } catch {
            throw AccountStoreError.wrapping(error, what: GoogleSource.what)
        }
        let host = url.host(percentEncoded: true)?.lowercased() ?? ""
        let isGoogle =
            url.scheme?.lowercased() == "https" && url.port ?? 443 == 443
            && (host == "googleapis.com" || host.hasSuffix(".googleapis.com"))
        guard isGoogle || knownHosts.contains(where: { $0.lowercased() == host }) else {
            throw GoogleSource.error(
                "\(name) in the file is at \(url.shownHost), which is not Google",
                hint: "if you trust this host, add it to knownAuthorities in the settings")
        }
        return url
    }

    /// Sends a request with an assertion. If its time was wrong, sends it again with the time of the server.
    func tokens(at url: URL, _ assertion: (Double) async throws -> Secret) async throws -> TokenResponse {
        let before = time(url)
        do {
            return try await GoogleTokens.read(
                send(GoogleTokens.tokenRequest(url, assertion: assertion(before))))
        } catch OAuth2Error.provider(let error) where error.code == .invalidGrant {
            let now = time(url)
            guard abs(now - before) > 60 else { throw OAuth2Error.provider(error) }
            return try await GoogleTokens.read(send(GoogleTokens.tokenRequest(url, assertion: assertion(now))))
        }
    }
}

/// The errors and the files of the sources of Google.
enum GoogleSource {
    static let what = "cannot get a token of Google"
    private static let maximumFileSize = 64 * 1024

    static func error(_ reason: String, hint: Hint? = nil) -> AccountStoreError {
        AccountStoreError(.settings, what: what, reason: reason, remedy: .changeSettings, hint: hint)
    }

    /// Reads a regular file that no other user can change.
    static func file(_ path: String) throws -> [UInt8] {
        var problem: FileAccess.Problem?
        var isRegular = true
        let result = OwnerOnlyFile.read(path, maximumSize: maximumFileSize) { descriptor in
            var status = stat()
            isRegular = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            problem = FileAccess().problem(ofFile: descriptor, at: path)
        }
        let correction: Hint = "correct the path of the file, or its permissions"
        guard isRegular else { throw error("cannot use \(path): not a regular file", hint: correction) }
        if let problem {
            throw error(
                "cannot use \(path): \(problem.reason)",
                hint: problem.command.map { "if the file is right, run: \($0)" } ?? correction)
        }
        switch result {
        case .success(let bytes): return bytes
        case .failure(let failure):
            throw error("cannot read \(path): \(failure.explanation)", hint: correction)
        }
    }

    /// Reads the file of the settings.
    static func parse<Value>(_ path: String, _ read: ([UInt8]) throws(OAuth2Error) -> Value) throws -> Value {
        let bytes = try file(path)
        do throws(OAuth2Error) {
            return try read(bytes)
        } catch .configuration(let reason) {
            throw error("cannot use \(path): \(reason)")
        } catch {
            throw AccountStoreError.wrapping(error, what: what)
        }
    }

    /// Returns the error of a token request for an account. Google reports a wrong user, key or clock as `invalid_grant`: a
    /// sign-in would not help.
    static func error(_ failure: any Error, scope: String, account: String, subject: String?) -> any Error {
        guard case OAuth2Error.provider(let provider) = failure, provider.disposition != .later else {
            return AccountStoreError.source(failure, what)
        }
        let said = provider.explanation.map { "\(provider.code.rawValue) (\($0))" } ?? provider.code.rawValue
        var result = error(said)
        result.provider = provider
        switch provider.code {
        case .unauthorizedClient where subject != nil:
            result.reason = "the domain-wide delegation of \(account) lacks the scope \(scope): \(said)"
            result.remedy = .askAdministrator
            result.hint =
                "an administrator adds exactly this scope in the Admin console, for the client ID \(account)"
        case .invalidGrant where subject != nil:
            result.hint =
                "check that subject is the mail address of a user of the domain, the key and this machine's clock"
        case .invalidGrant: result.hint = "check that the key is not deleted or disabled, and this machine's clock"
        default: break
        }
        return result
    }
}

/// The tokens of the service account of a machine at Google Compute.
struct GoogleMetadataSource: TokenSource {
    let services: MetadataServices

    static let application = Application(issuer: ManagedIdentitySource.issuer(.google), clientID: "default")

    func token(for resource: String) async throws -> TokenResponse {
        do {
            let request = GoogleTokens.metadataRequest(try services.google(), scope: Scope(parsing: resource))
            let response = try await services.send(request, retrying: MetadataRetryPolicy(maximumRetries: 2))
            return try GoogleTokens.readMetadata(response)
        } catch OAuth2Error.http(404, _) {
            throw MetadataServices.settings("this machine has no service account")
        } catch {
            throw AccountStoreError.source(error, MetadataServices.what)
        }
    }
}

/// The tokens of a service account whose key is in a file.
struct GoogleServiceAccountSource: TokenSource {
    let exchange: GoogleExchange
    let account: AccountType.GoogleAccount

    func key() throws -> GoogleServiceAccountKey {
        try GoogleSource.parse(account.file) { bytes throws(OAuth2Error) in try GoogleServiceAccountKey(parsing: bytes)
        }
    }

    func application() throws -> Application {
        Application(issuer: "https://accounts.google.com", clientID: try key().mail, subject: account.subject)
    }

    func token(for resource: String) async throws -> TokenResponse {
        let key = try key()
        let url = try exchange.url(key.tokenURI, "token_uri")
        do {
            return try await exchange.tokens(at: url) { now in
                try key.assertion(scope: resource, subject: account.subject, now: now)
            }
        } catch {
            throw GoogleSource.error(
                error, scope: resource, account: key.clientID ?? key.mail, subject: account.subject)
        }
    }
}

/// The tokens of an application that another provider identifies.
struct GoogleExternalSource: TokenSource {
    let exchange: GoogleExchange
    let account: AccountType.GoogleAccount
    let services: MetadataServices
    /// The token endpoint for an assertion that Google signed, or `nil` for Google's.
    let tokenEndpoint: URL?

    func file() throws -> GoogleExternalAccount {
        let file = try GoogleSource.parse(account.file) { bytes throws(OAuth2Error) in
            try GoogleExternalAccount(parsing: bytes)
        }
        if case .command = file.source, !account.allowsCommand {
            throw GoogleSource.error(
                "\(account.file) names a command",
                hint: "if you trust the file, set allowsCommand of externalAccount to true in the settings")
        }
        if account.subject != nil, file.serviceAccount == nil {
            throw GoogleSource.error(
                "\(account.file) does not name a service account, which subject needs",
                hint: "create the file with a service account to impersonate")
        }
        return file
    }

    /// Returns the endpoints of the file for the exchange and the impersonation. Checks both before the first request.
    func endpoints(_ file: GoogleExternalAccount) throws -> (exchange: URL, impersonation: URL?) {
        (
            try exchange.url(file.tokenURL, "token_url"),
            try file.impersonationURL.map { try exchange.url($0, "service_account_impersonation_url") }
        )
    }

    func application() throws -> Application {
        let file = try file()
        return Application(
            issuer: "https://sts.googleapis.com", clientID: file.serviceAccount ?? file.audience,
            subject: account.subject)
    }

    func token(for resource: String) async throws -> TokenResponse {
        let file = try file()
        let (url, impersonation) = try endpoints(file)
        let subjectToken = try await subjectToken(file)
        let scope = impersonation == nil ? resource : GoogleTokens.impersonationScope
        do {
            let federated = try await GoogleTokens.read(
                exchange.send(
                    GoogleTokens.exchangeRequest(file, url, subjectToken: subjectToken, scope: scope)))
            guard let impersonation else { return federated }
            if let subject = account.subject {
                return try await delegated(file, subject, resource, federated.accessToken)
            }
            let response = try await exchange.send(
                GoogleTokens.impersonationRequest(
                    impersonation, scope: Scope(parsing: resource), bearer: federated.accessToken))
            return try GoogleTokens.readImpersonation(
                response, now: services.dependencies.now().timeIntervalSince1970)
        } catch {
            let name = file.serviceAccount ?? file.audience
            let redacted = (error as? OAuth2Error)?.redacting([subjectToken]) ?? error
            throw GoogleSource.error(redacted, scope: resource, account: name, subject: account.subject)
        }
    }

    /// Returns a token of the service account for a user of its domain, with an assertion that Google signs.
    private func delegated(
        _ file: GoogleExternalAccount, _ subject: String, _ scope: String, _ bearer: Secret
    ) async throws -> TokenResponse {
        let signing = try exchange.url(file.signingURL ?? "", "service_account_impersonation_url")
        let endpoint = try tokenEndpoint ?? exchange.url(GoogleTokens.tokenEndpoint, "token_uri")
        return try await exchange.tokens(at: endpoint) { now in
            let request = GoogleTokens.signingRequest(
                signing, mail: file.serviceAccount ?? "", scope: scope, subject: subject, bearer: bearer, now: now)
            return try GoogleTokens.readSigned(try await exchange.send(request))
        }
    }

    // MARK: The token of the other provider

    func subjectToken(_ file: GoogleExternalAccount) async throws -> Secret {
        let bytes: [UInt8]
        let name: String
        switch file.source {
        case .file(let path):
            name = path
            bytes = try GoogleSource.file(path)
        case .url(let address, let headers):
            name = "credential_source.url"
            bytes = try await download(address, headers)
        case .command(let words):
            name = words[0]
            bytes = try await output(of: words, file)
        }
        do throws(OAuth2Error) {
            return try file.subjectToken(in: bytes)
        } catch .configuration(let reason) {
            throw GoogleSource.error("\(name): \(reason)")
        } catch {
            throw AccountStoreError.wrapping(error, what: GoogleSource.what)
        }
    }

    private func download(_ address: String, _ headers: [String: String]) async throws -> [UInt8] {
        let isMetadata = address.hasPrefix("http://169.254.169.254/")
        guard let url = URL(string: address, encodingInvalidCharacters: false), url.user == nil, url.password == nil,
            url.host(percentEncoded: true)?.isEmpty == false,
            url.scheme == "https" || url.scheme == "http" && (url.isLoopback || isMetadata)
        else { throw GoogleSource.error("credential_source.url in the file is not an https URL") }
        var fields = HTTPFields()
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { fields[name] = value }
        var request = ManagedIdentityRequest.get(url, [], fields)
        request.allowsLinkLocal = isMetadata
        let response: HTTPResponse
        do {
            response = try await services.send(request, retrying: MetadataRetryPolicy())
        } catch {
            throw AccountStoreError.source(error, GoogleSource.what)
        }
        guard response.status == 200 else {
            guard response.status >= 500 || response.status == 429 else {
                throw GoogleSource.error("credential_source.url: the response has HTTP status \(response.status)")
            }
            throw OAuth2Error.http(status: response.status, retryAfter: response.retryDelay)
        }
        return Array(response.body)
    }

    private func output(of words: [String], _ file: GoogleExternalAccount) async throws -> [UInt8] {
        var variables = [
            "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": file.audience,
            "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": file.subjectTokenType, "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE": "0",
        ]
        variables["GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL"] = file.serviceAccount
        let environment = services.dependencies.environment.filter { Self.inherited.contains($0.key) }
            .merging(variables) { $1 }
        let result: ProgramOutput
        do throws(ProgramOutput.Failure) {
            result = try await ProgramOutput.run(
                words, environment: environment, timeout: .seconds(30), maximumSize: 64 * 1024)
        } catch {
            switch error {
            case .cannotStart(let failure):
                throw GoogleSource.error("cannot run \(words[0]): \(failure.explanation)")
            case .timedOut: throw GoogleSource.error("the command \(words[0]) did not end within 30 s")
            case .tooLarge: throw GoogleSource.error("the command \(words[0]) printed more than 64 KiB")
            case .cancelled: throw CancellationError()
            }
        }
        guard result.status == 0 else {
            let line = FederatedAssertion.message(result.errors)
            throw GoogleSource.error(
                "the command \(words[0]) ended with status \(result.status)" + (line.isEmpty ? "" : ": \(line)"))
        }
        return result.output
    }

    /// The variables that a command gets in addition to the variables of Google.
    private static let inherited: Set<String> = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "TZ"]
}
