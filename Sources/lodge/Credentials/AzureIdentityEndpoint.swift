import CommandLineKit
import HTTPExchange
import JOSE
import LodgePlatform
import LoopbackHTTP
import OAuth2AccountStore
import StrictJSON

/// The managed identity endpoint of Azure App Service, from which a program gets the tokens of one account.
///
/// [Managed identities for App Service](https://learn.microsoft.com/en-us/azure/app-service/overview-managed-identity)
@MainActor struct AzureIdentityEndpoint {
    static let path = "/msi/token"
    static let version = "2019-08-01"
    static let secretField = "X-IDENTITY-HEADER"
    static let endpointVariable = "IDENTITY_ENDPOINT"
    static let secretVariable = "IDENTITY_HEADER"
    /// Variables that select another endpoint.
    private static let otherVariables = ["IDENTITY_SERVER_THUMBPRINT", "MSI_ENDPOINT", "MSI_SECRET"]
    private static let proxyVariables = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    private static let exceptionVariables = ["no_proxy", "NO_PROXY"]
    /// The parameters that select one of several identities.
    private static let identityParameters = ["mi_res_id", "msi_res_id", "object_id", "principal_id"]
    /// The validity of a token without an expiry, after which the program gets it again.
    private static let unknownValidity = 300.0

    private struct Refusal: Error {
        var status = 400
        var message: String
    }

    private let context: CommandContext
    private let store: AccountStore
    private let account: Account
    private let type: AccountType
    private let secret: String

    init(_ context: CommandContext, _ store: AccountStore, _ account: Account) throws {
        guard let type = try store.settings.type(named: account.type) else {
            throw CommandError(unknownType: account.type, in: store.settings)
        }
        (self.context, self.store, self.account, self.type) = (context, store, account, type)
        secret = Base64URL.encode(try store.dependencies.random(32))
    }

    /// Opens the port.
    func listen() throws(CommandError) -> LoopbackListener {
        var limits = LoopbackListener.Limits()
        limits.refusesOtherUsers = true
        do throws(LoopbackError) {
            return try LoopbackListener(limits: limits) { await response(to: $0) }
        } catch {
            throw CommandError(.failed, "cannot be a managed identity", reason: "\(error)")
        }
    }

    /// Returns the environment of the program.
    func environment(_ listener: LoopbackListener) -> [String: String] {
        var environment = context.world.environment
        for name in Self.otherVariables { environment[name] = nil }
        environment[Self.endpointVariable] = "http://\(listener.host):\(listener.port)\(Self.path)"
        environment[Self.secretVariable] = secret
        // The proxy would get the secret.
        if Self.proxyVariables.contains(where: { context.world.variable($0) != nil }) {
            let exceptions = Self.exceptionVariables.compactMap { context.world.variable($0) }.first
            for name in Self.exceptionVariables where exceptions != "*" {
                environment[name] = [exceptions, listener.host].compactMap(\.self).joined(separator: ",")
            }
        }
        return environment
    }

    private func response(to request: LoopbackRequest) async -> LoopbackResponse {
        do {
            return Self.response(200, try await token(for: request))
        } catch {
            let refusal = error as? Refusal ?? refusal(error)
            // The format of App Service, from which the client libraries print the message.
            var response = Self.response(
                refusal.status,
                ["statusCode": .number(JSONNumber(Int64(refusal.status))), "message": .string(refusal.message)])
            if refusal.status == 405 { response.fields["Allow"] = "GET" }
            return response
        }
    }

    private static func response(_ status: Int, _ content: JSONObject) -> LoopbackResponse {
        LoopbackResponse(
            status: status, fields: ["Content-Type": "application/json; charset=utf-8"],
            body: Data(JSONValue.object(content).serialized()))
    }

    /// Returns the refusal for an error. The client libraries repeat a request after the status 503.
    private func refusal(_ error: any Error) -> Refusal {
        let failure = CommandError(reporting: error, type: account.type, remedyText: context.invocation.remedyText)
        let isTemporary = [.network, .unavailable].contains(failure.status)
        return Refusal(status: isTemporary ? 503 : 400, message: context.failureText(error))
    }

    private func token(for request: LoopbackRequest) async throws -> JSONObject {
        let secrets = request.fields.values(for: Self.secretField)
        guard secrets.count == 1, equalInConstantTime(secrets[0].utf8, secret.utf8) else {
            throw Refusal(status: 401, message: "\(Self.secretField) is not the value of \(Self.secretVariable)")
        }
        guard request.path == Self.path else { throw Refusal(status: 404, message: "the path is not \(Self.path)") }
        guard request.method == .get else { throw Refusal(status: 405, message: "the method is not GET") }
        let parameters = try parameters(of: request)
        guard parameters["api-version"] == Self.version else {
            throw Refusal(message: "the api-version is not \(Self.version)")
        }
        try checkIdentity(parameters)
        guard let resource = parameters["resource"], let scope = scope(for: resource) else {
            throw Refusal(
                message: "the resource is not an https URL of a host of the account type \(type.name): "
                    + type.tokenHosts.joined(separator: ", "))
        }
        let token = try await context.bearerToken(of: HostAccount(store: store, account: account), scope: scope)
        let expiry = token.expiry ?? store.dependencies.now().addingTimeInterval(Self.unknownValidity)
        return [
            "access_token": .string(token.secret.value),
            "expires_on": .string(String(Int64(expiry.timeIntervalSince1970))), "resource": .string(resource),
            "token_type": "Bearer",
        ]
    }

    private func parameters(of request: LoopbackRequest) throws(Refusal) -> [String: String] {
        guard let pairs = FormEncoding.decode(request.query ?? "") else {
            throw Refusal(message: "the query is malformed")
        }
        let parameters = Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first }
        guard parameters.count == pairs.count else { throw Refusal(message: "a parameter is repeated") }
        return parameters
    }

    /// Refuses requests for another identity: the program must not act as this account by mistake.
    ///
    /// Client libraries send the client ID of `AZURE_CLIENT_ID`, which can be the client of the account type.
    private func checkIdentity(_ parameters: [String: String]) throws(Refusal) {
        let isOther = parameters["client_id"].map { $0.lowercased() != type.clientID.lowercased() } ?? false
        guard !isOther, !Self.identityParameters.contains(where: { parameters[$0] != nil }) else {
            throw Refusal(message: "no such managed identity: lodge has only the account \(account.label)")
        }
    }

    /// Returns the scope of a token for a resource, empty for the scope of the account, or `nil` if the resource must not get a token.
    ///
    /// Entra issues a token for each resource, with all permissions that the client has (`.default`). Tokens of other providers are
    /// for all hosts of the account type.
    private func scope(for resource: String) -> Scope? {
        guard resource.contains("://"), !resource.contains(where: { "?#".contains($0) }),
            Scope([resource]).firstInvalidToken == nil, let host = CommandContext.tokenHost(resource),
            type.tokenHosts.contains(where: host.isAllowed)
        else { return nil }
        if case .authority = type.provider { return [resource + "/.default"] }
        return type.isMicrosoft ? [resource + "/.default"] : []
    }
}
