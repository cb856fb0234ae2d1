import HTTPExchange
import LodgePlatform
import OAuth2Protocol

extension Account {
    /// The source of the tokens, such as `imds`, or `nil` if a platform does not manage the identity.
    package var managedIdentitySource: String? {
        issuer.flatMap { $0.hasPrefix(ManagedIdentitySource.issuerPrefix) ? $0 : nil }
            .map { String($0.dropFirst(ManagedIdentitySource.issuerPrefix.count)) }
    }

    /// Whether its tokens have a user. Cloud Shell issues the tokens of its user to an application.
    package var hasUser: Bool { !isClient || issuer == ManagedIdentitySource.issuer(.cloudShell) }
}

/// The tokens of a managed identity of Azure.
struct ManagedIdentitySource: TokenSource {
    let services: MetadataServices
    let identity: ManagedIdentity

    static let what = "cannot get a token of the managed identity"

    fileprivate static let issuerPrefix = "managed-identity:"

    /// Returns the issuer of the accounts of a source.
    static func issuer(_ source: ManagedIdentity.Source) -> String { issuerPrefix + source.rawValue }

    private static let hint: Hint =
        "check that the identity is assigned to this machine, and managedIdentity in the settings"

    /// Returns the application of this machine: its source and its identity.
    func application() async throws -> Application {
        let endpoint = try await services.endpoint(of: identity.source)
        return Application(
            issuer: Self.issuer(endpoint.source),
            clientID: identity.identity?.text ?? (endpoint.source == .cloudShell ? "user" : "system-assigned"))
    }

    func token(for resource: String) async throws -> TokenResponse {
        let endpoint = try await services.endpoint(of: identity.source)
        do {
            let request = try ManagedIdentityRequest(to: endpoint, resource: resource, identity: identity.identity)
            let policy = MetadataRetryPolicy(isIMDS: endpoint.source == .imds)
            var response = try await services.send(request.request, retrying: policy)
            if endpoint.source == .azureArc, response.status == 401 {
                let answer = try ManagedIdentityRequest(
                    to: endpoint, resource: resource, identity: identity.identity, challenge: challenge(response))
                response = try await services.send(answer.request, retrying: policy)
            }
            try Self.check(response, endpoint)
            return try request.read(response, now: services.dependencies.now().timeIntervalSince1970)
        } catch {
            throw AccountStoreError.source(error, Self.what, settingsHint: Self.hint)
        }
    }

    /// Throws if another service has the address of Azure's metadata service, such as Docker's, or the machine has no
    /// identity.
    private static func check(_ response: HTTPResponse, _ endpoint: ManagedIdentityRequest.Endpoint) throws {
        guard endpoint.source == .imds else { return }
        switch response.status {
        case 403 where String(decoding: response.body, as: UTF8.self).contains("unreachable"):
            throw MetadataServices.absent
        case 400 where response.isMarkup: throw MetadataServices.absent
        default: break
        }
    }

    /// Returns the content of the file in the challenge of Azure Arc, which only a privileged user can read.
    private func challenge(_ response: HTTPResponse) throws -> Secret {
        let path = try ManagedIdentityRequest.challengeFile(response, folder: services.arcFolder)
        switch OwnerOnlyFile.read(path, maximumSize: ManagedIdentityRequest.maximumChallengeSize) {
        case .failure(let failure):
            throw AccountStoreError(
                .settings, what: Self.what, reason: "cannot read \(path): \(failure.explanation)",
                remedy: .changeSettings, hint: "add the user of this program to the group himds")
        case .success(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.isEmpty, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
                throw AccountStoreError(
                    .settings, what: Self.what, reason: "\(path) is not a key of Azure Arc's agent",
                    remedy: .changeSettings)
            }
            return Secret(text)
        }
    }
}
