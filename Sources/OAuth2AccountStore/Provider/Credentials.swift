import HTTPExchange
import LodgePlatform
import JOSE
import OAuth2Protocol

/// Creates the client of a type, and reads its secret or key from the location in the settings.
package struct ClientCredentials {
    let type: AccountType
    let environment: [String: String]

    package init(type: AccountType, environment: [String: String]) {
        self.type = type
        self.environment = environment
    }

    private static let maximumSize = 64 * 1024

    /// Returns the client with the authentication method of the settings. The default is the best method that the
    /// provider announces: a key rather than a secret (RFC 9700 section 2.5).
    ///
    /// - Throws: `SettingsError` if the secret or the key cannot be read; `OAuth2Error` if the provider accepts
    ///   neither.
    func client(for server: AuthorizationServer) throws -> Client {
        Client(id: type.clientID, authentication: try authentication(server))
    }

    private func authentication(_ server: AuthorizationServer) throws -> ClientAuthentication {
        if type.clientAssertion != nil { return .suppliedAssertion }
        switch type.clientAuthentication {
        case AccountType.AuthenticationMethod.none?: return .none
        case .clientSecretBasicRaw?:
            guard let secret = try secret() else { return .none }
            return .secretBasicRaw(secret)
        case let method?:
            return try ClientAuthentication(
                method: method.rawValue, secret: method.needsSecret ? try secret() : nil,
                key: method == .privateKeyJWT ? try signingKey() : nil)
        case nil: return try announced(server.tokenEndpointAuthenticationMethods)
        }
    }

    private func announced(_ methods: [String]?) throws -> ClientAuthentication {
        // Authenticate with the certificate of the connection only if the settings have neither a secret nor a key.
        if type.clientCertificate != nil, type.clientSecret == nil, type.clientKey == nil,
            methods?.contains(where: { $0 == "tls_client_auth" || $0 == "self_signed_tls_client_auth" }) ?? true
        {
            return .tlsCertificate
        }
        // A key can be intended only for signed requests. It authenticates the client if the provider accepts it, or if
        // there is no secret.
        if type.clientKey != nil, methods?.contains("private_key_jwt") ?? (type.clientSecret == nil) {
            return .privateKeyJWT(try signingKey())
        }
        guard let secret = try secret() else {
            return type.clientKey == nil || methods?.contains("none") == true
                ? .none : .privateKeyJWT(try signingKey())
        }
        do throws(OAuth2Error) {
            return try .secret(secret, announced: methods)
        } catch {
            guard methods?.contains("client_secret_jwt") == true else { throw error }
            return .secretJWT(secret)
        }
    }

    /// Returns the client secret, or `nil` if the settings do not have one.
    package func secret() throws(SettingsError) -> Secret? {
        guard let source = type.clientSecret else { return nil }
        return try text(source, of: "clientSecret", "client secret")
    }

    /// Returns the client's private key with the algorithm of its `alg` member. The default is the usual algorithm for
    /// the type of the key.
    package func signingKey() throws -> SigningKey {
        guard let source = type.clientKey else {
            throw SettingsError(
                file: "settings", key: "types.\(type.name).clientKey", expected: "a private key", found: "nothing")
        }
        let text = try text(source, of: "clientKey", "private key")
        let key: JWK
        do throws(JOSEError) {
            key = try JWK(parsing: text.value.utf8)
        } catch {
            throw keyError(source, found: "something else: \(error)")
        }
        let algorithm = key.algorithm.map(JWSAlgorithm.init(name:)) ?? Self.usualAlgorithm(of: key)
        guard key.isPrivate, let algorithm, !algorithm.isSymmetric else {
            throw keyError(
                source, found: key.type == .symmetric ? "a secret" : key.isPrivate ? "an unknown alg" : "a public key")
        }
        return try SigningKey(key, algorithm: algorithm)
    }

    private func keyError(_ source: AccountType.SecretSource, found: String) -> SettingsError {
        let (file, key) =
            switch source {
            case .file(let path): (path, nil as String?)
            case .environment(let name): ("environment", name)
            case .inline: ("settings", "types.\(type.name).clientKey")
            }
        return SettingsError(
            file: file, key: key, expected: "the private key of types.\(type.name).clientKey, as a JWK", found: found)
    }

    private static func usualAlgorithm(of key: JWK) -> JWSAlgorithm? {
        switch (key.type, key.curve) {
        case (.rsa, _): .rs256
        default: JWSAlgorithm.allCases.first { !$0.isSymmetric && $0.keyType == key.type && key.canSign(with: $0) }
        }
    }

    /// Reads a secret of the settings.
    func text(
        _ source: AccountType.SecretSource, of key: String, _ what: String, allowsEmpty: Bool = false
    ) throws(SettingsError) -> Secret {
        let key = "types.\(type.name).\(key)"
        switch source {
        case .inline(let secret): return secret
        case .environment(let name):
            guard let text = environment[name], allowsEmpty || !text.isEmpty else {
                throw SettingsError(variable: name, expected: "the \(what) of \(key)", found: "nothing")
            }
            return Secret(text)
        case .file(let path):
            switch OwnerOnlyFile.read(path, maximumSize: Self.maximumSize) {
            case .failure(let failure):
                throw SettingsError(
                    file: path, expected: "a readable file with the \(what) of \(key)", found: failure.explanation)
            case .success(let bytes):
                let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
                let start = bytes.firstIndex { !space.contains($0) } ?? bytes.endIndex
                let end = (bytes.lastIndex { !space.contains($0) } ?? start - 1) + 1
                guard allowsEmpty || start < end, let text = String(validating: bytes[start..<end], as: UTF8.self)
                else {
                    throw SettingsError(
                        file: path, expected: "the \(what) of \(key)", found: "an empty file or not UTF-8")
                }
                return Secret(text)
            }
        }
    }
}

extension Client {
    var secret: Secret? {
        switch authentication {
        case .secretBasic(let secret), .secretBasicRaw(let secret), .secretPost(let secret), .secretJWT(let secret),
            .assertion(let secret):
            secret
        default: nil
        }
    }

    /// The forms of the secret that a provider's message can repeat.
    var secretForms: [Secret?] { [basicCredentials, secret, secret.map { Secret(FormEncoding.encode($0.value)) }] }
}

extension OAuth2Error {
    /// The minimum length of a secret that is redacted in an error code, in bytes.
    private static let minimumSecret = 8

    /// Returns the error without these secrets. A provider's message can repeat them.
    func redacting(_ secrets: [Secret?]) -> OAuth2Error {
        guard case .provider(var error) = self else { return self }
        func redacted(_ text: String?, atLeast count: Int = 1) -> String? {
            secrets.reduce(text) { text, secret in
                guard let secret, secret.value.utf8.count >= count else { return text }
                return text?.replacingBytes(secret.value, with: Secret.mask)
            }
        }
        // A short secret can be part of a word, and the error code decides the remedy.
        error.code = ErrorCode(rawValue: redacted(error.code.rawValue, atLeast: Self.minimumSecret) ?? "")
        error.explanation = redacted(error.explanation)
        error.uri = redacted(error.uri)
        error.subcode = redacted(error.subcode)
        return .provider(error)
    }
}
