import HTTPExchange
import JOSE
import LodgePlatform
import OAuth2Protocol
import ProviderSettings
import StrictJSON

/// The JWTs of another issuer, fetched from their source for each token request.
struct FederatedAssertions: AssertionSource {
    private let credential: FederatedCredential
    private let type: AccountType
    private let dependencies: Dependencies
    private let time: @Sendable (String) -> Double

    /// The maximum size of a JWT and of a response, in bytes.
    private static let maximumSize = 64 * 1024
    /// The time limit of a request.
    private static let requestTimeout = Duration.seconds(10)
    /// The time limit of a program.
    private static let programTimeout = Duration.seconds(30)
    /// The variables that a program gets.
    private static let variables = [
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
        "SPIFFE_ENDPOINT_SOCKET",
    ]

    /// Creates the source of a type.
    ///
    /// - Parameter time: Returns the time of the server of an audience, in seconds since 1970.
    init(
        _ credential: FederatedCredential, of type: AccountType, _ dependencies: Dependencies,
        time: @escaping @Sendable (String) -> Double
    ) {
        self.credential = credential
        self.type = type
        self.dependencies = dependencies
        self.time = time
    }

    func assertion(audience: String) async throws -> Secret {
        let assertion = try await assertion()
        if let expiry = assertion.expiry, expiry <= time(audience) {
            throw error(
                expected: "a JWT that is valid now",
                found: "a JWT that expired at \(Date(timeIntervalSince1970: expiry).rfc3339)",
                hint: "the source must return a new JWT for each request; \(assertion.summary)")
        }
        return assertion.token
    }

    /// Fetches a JWT and checks everything except its times.
    func assertion() async throws -> FederatedAssertion {
        let bytes: [UInt8]
        switch credential {
        case .file(let path): bytes = try CredentialFile.read(path, "the assertion of \(key)")
        case .fileNamed(let variable):
            let path = try value(of: variable)
            do throws(SettingsError) {
                bytes = try CredentialFile.read(path, "the assertion of \(key)")
            } catch {
                var error = error
                error.found += "; the variable \(variable) names this file"
                error.hint = error.hint ?? missingVariableHint ?? "correct the variable \(variable)"
                throw error
            }
        case .environment(let variable): bytes = Array(try value(of: variable).utf8)
        case .command(let words): bytes = try await output(of: words)
        case .request, .githubActions, .azurePipelines:
            guard let request = credential.request else { throw error(found: "no request") }
            bytes = try await response(to: request)
        }
        do throws(FederatedAssertion.Problem) {
            return try FederatedAssertion(bytes, audience: credential.request?.query["audience"])
        } catch {
            throw self.error(found: error.description, hint: error.hint)
        }
    }

    private var key: String { "types.\(type.name).clientAssertion" }

    private func error(
        expected: String = "a JWT of the issuer that the provider trusts", found: String, hint: Hint? = nil
    ) -> SettingsError {
        SettingsError(file: "\(credential)", key: key, expected: expected, found: found, hint: hint)
    }

    // MARK: Variables

    /// Returns the value of an environment variable.
    private func value(of variable: String) throws(SettingsError) -> String {
        guard let value = dependencies.environment[variable], !value.isEmpty else {
            throw SettingsError(
                variable: variable, expected: "a value for \(key)", found: "nothing", hint: missingVariableHint)
        }
        return value
    }

    private var missingVariableHint: Hint? {
        switch credential {
        case .githubActions: "the job needs the permission: permissions: id-token: write"
        case .azurePipelines:
            "map the token into the environment of the step: env: SYSTEM_ACCESSTOKEN: $(System.AccessToken)"
        case .fileNamed("AZURE_FEDERATED_TOKEN_FILE"):
            "label the pod with azure.workload.identity/use: \"true\", and annotate its service account"
        default: nil
        }
    }

    // MARK: Programs

    private func output(of words: [String]) async throws -> [UInt8] {
        let environment = dependencies.environment.filter { Self.variables.contains($0.key) }
        let result: ProgramOutput
        do throws(ProgramOutput.Failure) {
            result = try await ProgramOutput.run(
                words, environment: environment, timeout: Self.programTimeout, maximumSize: Self.maximumSize)
        } catch {
            switch error {
            case .cannotStart(let failure):
                throw self.error(found: "a program that cannot start: \(failure.explanation)")
            case .timedOut:
                throw unavailable("the program did not end within \(Self.programTimeout.wholeSeconds) s")
            case .tooLarge: throw self.error(found: "more than \(Self.maximumSize) bytes")
            case .cancelled: throw CancellationError()
            }
        }
        guard result.status == 0 else {
            let line = FederatedAssertion.message(result.errors)
            throw error(found: "exit status \(result.status)" + (line.isEmpty ? "" : ": \(line)"))
        }
        return result.output
    }

    // MARK: Requests

    private func response(to request: AssertionRequest) async throws -> [UInt8] {
        let url = try self.url(of: request)
        var message = HTTPRequest(request.method, url)
        for (name, value) in request.headers { message.fields[name] = value }
        if let bearer = try bearer(of: request) { message.fields["Authorization"] = "Bearer " + bearer }
        if request.method == .post { message.body = Data() }
        message.maximumResponseSize = Self.maximumSize
        message.timeout = Self.requestTimeout
        // The metadata service of Google Cloud, which issues JWTs for Entra, has no https.
        message.allowsLinkLocal = url.isLinkLocal
        let response: HTTPResponse
        do {
            response = try await dependencies.transport(type.caFile).send(message)
        } catch let error as HTTPTransportError where error.kind == .timedOut {
            throw unavailable("no response within \(Self.requestTimeout.wholeSeconds) s")
        } catch let error as HTTPTransportError where error.kind == .responseTooLarge {
            throw self.error(found: "more than \(Self.maximumSize) bytes")
        }
        guard response.status == 200 else {
            guard response.status == 429 || response.status >= 500 else {
                throw error(found: "a response with HTTP status \(response.status)", hint: missingVariableHint)
            }
            throw unavailable("HTTP status \(response.status)", after: response.retryAfter(now: dependencies.now()))
        }
        guard let member = request.member else { return Array(response.body) }
        var value = try? JSONValue(parsing: response.body)
        for name in member.split(separator: ".") { value = value?.object?[String(name)] }
        guard let text = value?.string else { throw error(found: "a response without the string \(member)") }
        return Array(text.utf8)
    }

    /// Returns the URL with the parameters of the request.
    private func url(of request: AssertionRequest) throws -> URL {
        var text: String
        switch request.address {
        case .url(let url): text = url.absoluteString
        case .environment(let variable):
            text = try value(of: variable)
            guard let url = URL(string: text, encodingInvalidCharacters: false), AssertionRequest.isAllowed(url) else {
                throw SettingsError(
                    variable: variable, expected: AssertionRequest.allowedAddresses, found: "another value")
            }
        }
        if !request.query.isEmpty {
            // The variables of CI systems have a query already.
            let separator = text.contains("?") ? (text.hasSuffix("?") || text.hasSuffix("&") ? "" : "&") : "?"
            text += separator + FormEncoding.encode(request.query.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        }
        guard let url = URL(string: text, encodingInvalidCharacters: false) else {
            throw error(expected: AssertionRequest.allowedAddresses, found: "another value")
        }
        return url
    }

    private func bearer(of request: AssertionRequest) throws(SettingsError) -> String? {
        switch request.bearer {
        case nil: return nil
        case .inline(let secret)?: return secret.value
        case .environment(let variable)?: return try value(of: variable)
        case .file(let path)?:
            let bytes = try CredentialFile.read(path, "the bearer token of \(key)")
            guard let text = FederatedAssertion.trimmed(bytes), !text.isEmpty,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw SettingsError(
                    file: path, expected: "the bearer token of \(key)", found: "an empty file or control characters")
            }
            return text
        }
    }

    /// Returns the error of a source that does not respond now. The account is unchanged.
    private func unavailable(_ reason: String, after delay: Duration? = nil) -> AccountStoreError {
        AccountStoreError(
            .unavailable, what: "cannot get a client assertion from \(credential)", reason: reason,
            remedy: .retryLater(after: delay))
    }
}

extension AccountType {
    /// Fetches the current assertion of another issuer, for diagnostics; `nil` if the client authenticates in another way.
    ///
    /// - Parameter usesNetwork: Whether to send a request or run a program. If not, such a source returns `nil`.
    /// - Throws: `SettingsError` or ``AccountStoreError`` if the source does not return one; `HTTPTransportError`.
    package func federatedAssertion(
        _ dependencies: Dependencies, usesNetwork: Bool
    ) async throws -> FederatedAssertion? {
        guard case .federated(let credential)? = clientAssertion, usesNetwork || credential.isLocal else { return nil }
        return try await FederatedAssertions(credential, of: self, dependencies) { _ in
            dependencies.now().timeIntervalSince1970
        }.assertion()
    }
}
