import OAuth2

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The client of a type with its secret fetched from where the settings say.
struct ClientCredentials {
    let type: AccountType
    let environment: [String: String]

    func client(for server: AuthorizationServer) throws -> Client {
        guard let source = type.clientSecret else { return Client(id: type.clientID) }
        let secret = try secret(source)
        switch type.clientAuthentication ?? Self.method(server) {
        case .none: return Client(id: type.clientID)
        case .clientSecretBasic: return Client(id: type.clientID, authentication: .secretBasic(secret))
        case .clientSecretBasicRaw: return Client(id: type.clientID, authentication: .secretBasicRaw(secret))
        case .clientSecretPost: return Client(id: type.clientID, authentication: .secretPost(secret))
        }
    }

    /// Basic is the default of RFC 8414 section 2; post when the provider offers only that.
    private static func method(_ server: AuthorizationServer) -> AccountType.AuthenticationMethod {
        guard let offered = server.tokenEndpointAuthenticationMethods else { return .clientSecretBasic }
        if offered.contains("client_secret_basic") { return .clientSecretBasic }
        return offered.contains("client_secret_post") ? .clientSecretPost : .clientSecretBasic
    }

    private func secret(_ source: AccountType.SecretSource) throws -> Secret {
        let key = "types.\(type.name).clientSecret"
        switch source {
        case .inline(let secret): return secret
        case .environment(let name):
            guard let text = environment[name], !text.isEmpty else {
                throw SettingsError(
                    file: "environment", key: name, expected: "the client secret of \(key)", found: "nothing")
            }
            return Secret(text)
        case .file(let path):
            switch PrivateFile.read(path, maximumSize: 64 * 1024) {
            case .failure(let failure):
                throw SettingsError(
                    file: path, expected: "a readable file with the client secret of \(key)", found: failure.explanation
                )
            case .success(let bytes):
                let space: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
                let start = bytes.firstIndex { !space.contains($0) } ?? bytes.endIndex
                let end = (bytes.lastIndex { !space.contains($0) } ?? start - 1) + 1
                guard start < end, let text = String(validating: bytes[start..<end], as: UTF8.self) else {
                    throw SettingsError(
                        file: path, expected: "the client secret of \(key)", found: "an empty file or not UTF-8")
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
        case .secretBasic(let secret), .secretBasicRaw(let secret), .secretPost(let secret): secret
        default: nil
        }
    }
}

extension OAuth2Error {
    /// The same error with these secrets masked in the provider's words, which may repeat what was sent.
    func hiding(_ secrets: [Secret?]) -> OAuth2Error {
        guard case .provider(var error) = self else { return self }
        func hidden(_ text: String?) -> String? {
            secrets.reduce(text) { text, secret in
                guard let secret, !secret.value.isEmpty else { return text }
                return text?.replacing(secret.value, with: Secret.mask)
            }
        }
        error.code = ErrorCode(rawValue: hidden(error.code.rawValue) ?? "")
        error.explanation = hidden(error.explanation)
        error.uri = hidden(error.uri)
        error.subcode = hidden(error.subcode)
        return .provider(error)
    }
}

extension URL {
    /// Scheme, host and port, in lower case.
    var origin: String? {
        guard let scheme = scheme?.lowercased(), let host = host(percentEncoded: true)?.lowercased() else { return nil }
        let usual = scheme == "https" ? 443 : 80
        return "\(scheme)://\(host):\(port ?? usual)"
    }
}
