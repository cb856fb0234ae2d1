import Platform
import JOSE
import OAuth2Protocol

/// The client of a type, with its secret or key fetched from where the settings say.
package struct ClientCredentials {
    let type: AccountType
    let environment: [String: String]

    package init(type: AccountType, environment: [String: String]) {
        self.type = type
        self.environment = environment
    }

    /// The largest file of a secret or a key, in bytes.
    private static let maximumSize = 64 * 1024

    /// The client as it authenticates at this provider: as the settings say, else by the best of what the provider
    /// announces: a key before a secret (RFC 9700 section 2.5).
    ///
    /// - Throws: `SettingsError` when the secret or the key cannot be had; `OAuth2Error` when the provider takes neither.
    func client(for server: AuthorizationServer) throws -> Client {
        Client(id: type.clientID, authentication: try authentication(server))
    }

    private func authentication(_ server: AuthorizationServer) throws -> ClientAuthentication {
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
        // The certificate of the connection, where the provider takes nothing else that is there.
        if type.clientCertificate != nil, type.clientSecret == nil, type.clientKey == nil,
            methods?.contains(where: { $0 == "tls_client_auth" || $0 == "self_signed_tls_client_auth" }) ?? true
        {
            return .tlsCertificate
        }
        // A key may be there for signed requests alone: it authenticates where the provider takes it, or where it is all there is.
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

    /// The client secret; nil when the settings name none.
    package func secret() throws -> Secret? {
        try type.clientSecret.map { try text($0, of: "clientSecret", "client secret") }
    }

    /// The client's private key with the algorithm that its `alg` names, else the usual one of its type.
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

    private func text(_ source: AccountType.SecretSource, of key: String, _ what: String) throws -> Secret {
        let key = "types.\(type.name).\(key)"
        switch source {
        case .inline(let secret): return secret
        case .environment(let name):
            guard let text = environment[name], !text.isEmpty else {
                throw SettingsError(
                    file: "environment", key: name, expected: "the \(what) of \(key)", found: "nothing")
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
                guard start < end, let text = String(validating: bytes[start..<end], as: UTF8.self) else {
                    throw SettingsError(
                        file: path, expected: "the \(what) of \(key)", found: "an empty file or not UTF-8")
                }
                return Secret(text)
            }
        }
    }
}

extension Client {
    /// The secret that this client sends, when it has one.
    var secret: Secret? {
        switch authentication {
        case .secretBasic(let secret), .secretBasicRaw(let secret), .secretPost(let secret), .secretJWT(let secret):
            secret
        default: nil
        }
    }
}

extension OAuth2Error {
    /// How many bytes a secret has at least to be looked for in an error code.
    private static let leastSecret = 8

    /// The same error with these secrets masked in the provider's words, which may repeat what was sent.
    func redacting(_ secrets: [Secret?]) -> OAuth2Error {
        guard case .provider(var error) = self else { return self }
        func hidden(_ text: String?, atLeast count: Int = 1) -> String? {
            secrets.reduce(text) { text, secret in
                guard let secret, secret.value.utf8.count >= count else { return text }
                return text?.replacing(secret.value, with: Secret.mask)
            }
        }
        // A secret of a few letters may be part of a word, and the code decides what happens.
        error.code = ErrorCode(rawValue: hidden(error.code.rawValue, atLeast: Self.leastSecret) ?? "")
        error.explanation = hidden(error.explanation)
        error.uri = hidden(error.uri)
        error.subcode = hidden(error.subcode)
        return .provider(error)
    }
}
