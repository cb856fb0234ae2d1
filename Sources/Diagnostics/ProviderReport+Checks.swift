import OAuth2AccountStore
import HTTPExchange
import JOSE
import OAuth2Protocol

// The checks of metadata and keys for an account type.
extension ProviderReport {
    mutating func check(_ server: AuthorizationServer, for type: AccountType) {
        if let issuer = server.issuer { add("issuer", .ok, issuer) }
        for (name, path) in AuthorizationServer.endpointNames {
            if let url = server[keyPath: path] {
                add(name, .ok, url.absoluteString)
            } else if let reason = server.unusable[name] {
                add(name, .problem, reason)
            } else if let use = Self.needed(name, type) {
                add(name, .problem, "missing, but required to \(use)")
            } else {
                add(name, .notOffered, "")
            }
        }
        checkGrants(server, type)
        checkClient(server, type)
        checkTokens(server, type)
        checkHardening(server)
        let endpoints = Set(AuthorizationServer.endpointNames.map(\.name))
        for (name, reason) in server.unusable.sorted(by: { $0.key < $1.key }) where !endpoints.contains(name) {
            add(name, .problem, reason)
        }
    }

    private static func needed(_ name: String, _ type: AccountType) -> String? {
        switch name {
        case "authorization_endpoint" where !type.grant.isOfApplication: "sign in with the browser"
        case "token_endpoint": "get tokens"
        case "jwks_uri" where type.scope.contains("openid"): "verify ID tokens"
        default: nil
        }
    }

    private mutating func checkGrants(_ server: AuthorizationServer, _ type: AccountType) {
        // Without a list, the default applies, which lacks the refresh token grant; such providers support it anyway.
        let known = server.grantTypes
        let grants = [
            ("authorization_code", "sign-in with the browser"), ("refresh_token", "refresh without a sign-in"),
            ("urn:ietf:params:oauth:grant-type:device_code", "sign-in with another device"),
            ("client_credentials", "tokens without a user"),
        ]
        for (grant, use) in grants {
            let subject = "grant " + (grant.split(separator: ":").last.map(String.init) ?? grant)
            let isDevice = grant.hasSuffix("device_code")
            if isDevice, server.deviceAuthorizationEndpoint == nil {
                add(subject, .notOffered, use)
            } else if let known {
                let isOffered = known.contains(grant)
                let required = type.grant.isOfApplication ? "client_credentials" : "authorization_code"
                let state: Finding.State = isOffered ? .ok : grant == required ? .problem : .notOffered
                add(subject, state, use + (isOffered || state != .problem ? "" : ": not among the provider's grants"))
            } else {
                add(subject, .ok, use + "; the provider does not list its grants")
            }
        }
    }

    private mutating func checkClient(_ server: AuthorizationServer, _ type: AccountType) {
        switch server.codeChallengeMethods {
        case _ where type.grant.isOfApplication: break
        case nil: add("PKCE S256", .notOffered, "not announced; sent nevertheless")
        case let methods? where methods.contains("S256"): add("PKCE S256", .ok, "")
        case let methods?:
            // With "plain", PKCE would not protect the code (RFC 7636 section 7.2).
            add("PKCE S256", .problem, "the provider only has \(Self.list(methods)), which is not used here")
        }
        let announced = server.tokenEndpointAuthenticationMethods
        let methods = announced ?? ["client_secret_basic"]
        let subject = "client authentication"
        guard let method = type.clientAuthentication?.rawValue else {
            return add(subject, .ok, Self.list(methods) + (announced == nil ? ", the default" : ""))
        }
        // Metadata does not contain how the provider decodes HTTP Basic.
        let name = method == "client_secret_basic_raw" ? "client_secret_basic" : method
        if announced == nil || methods.contains(name) || name == "none" {
            add(subject, .ok, "\(method), as the settings say")
        } else {
            add(subject, .problem, "the settings say \(method); the provider takes \(Self.list(methods))")
        }
    }

    private mutating func checkTokens(_ server: AuthorizationServer, _ type: AccountType) {
        if type.scope.contains("openid") || server.jwksURI != nil {
            let usable = server.idTokenSigningAlgorithms.filter { JWSAlgorithm(name: $0) != nil }
            if usable.isEmpty {
                add(
                    "ID token algorithms", .problem,
                    "no supported algorithm: \(Self.list(server.idTokenSigningAlgorithms))")
            } else {
                add("ID token algorithms", .ok, Self.list(usable))
            }
        }
        if let scopes = server.scopes {
            let missing = type.scope.tokens.filter { !scopes.contains($0) }
            if missing.isEmpty {
                add("scopes", .ok, type.scope.text)
            } else {
                // A provider may omit scopes from its list (RFC 8414 section 2).
                add("scopes", .notOffered, "requested but not announced: \(Self.list(missing))")
            }
        }
    }

    private mutating func checkHardening(_ server: AuthorizationServer) {
        add(
            "issuer in the redirect", server.sendsIssuerInRedirect ? .ok : .notOffered,
            server.sendsIssuerInRedirect ? "always, and checked" : "")
        if server.pushedAuthorizationRequestEndpoint == nil {
            let required = server.requiresPushedAuthorizationRequests
            add(
                "pushed requests", required ? .problem : .notOffered,
                required ? "required, but there is no endpoint for them" : "")
        } else {
            add("pushed requests", .ok, server.requiresPushedAuthorizationRequests ? "required" : "not required")
        }
        let algorithms = server.dpopSigningAlgorithms
        add("DPoP", algorithms == nil ? .notOffered : .ok, Self.list(algorithms ?? []))
    }

    mutating func checkKeys(
        _ server: AuthorizationServer, for type: AccountType, _ transport: any HTTPTransport
    ) async throws {
        guard server.jwksURI != nil else { return }
        do {
            let set = try JWKSRequest.read(try await transport.send(try JWKSRequest(server: server).request))
            let skipped = set.skippedKeyCount
            let detail = "\(set.keys.count) usable" + (skipped == 0 ? "" : ", \(skipped) unsupported")
            add("keys", set.keys.isEmpty ? .problem : .ok, set.keys.isEmpty ? "no usable key among \(skipped)" : detail)
        } catch let error where error.isCancellation {
            throw CancellationError()
        } catch {
            add("keys", .problem, AccountStoreError.wrapping(error, what: "cannot fetch the keys").reason)
        }
    }

    private static func list(_ words: [String]) -> String { words.joined(separator: ", ") }
}
