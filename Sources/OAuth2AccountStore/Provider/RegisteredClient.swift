import LodgePlatform
import JOSE
import OAuth2Protocol
import StrictJSON

/// A client that was registered dynamically for one account type, with the data for managing the registration.
///
/// See [RFC 7592 section 3](https://www.rfc-editor.org/rfc/rfc7592#section-3).
package struct RegisteredClient: Sendable, Equatable {
    /// The issuer that registered the client. The client is valid only there.
    package let issuer: String
    /// The client identifier.
    package let clientID: String
    /// The URL and the token for managing the registration, or `nil` if the provider does not support it.
    package let access: ClientManagementRequest.Access?

    /// Creates a registered client.
    package init(issuer: String, clientID: String, access: ClientManagementRequest.Access?) {
        self.issuer = issuer
        self.clientID = clientID
        self.access = access
    }
}

extension RegisteredClient: Redacted {
    /// The client identifier and the issuer, without the token.
    package var description: String { "the client \(clientID.debugDescription) of \(issuer)" }
}

extension RegisteredClient {
    /// Saves a registration, sealed like the accounts. `nil` removes it.
    static func save(_ client: RegisteredClient?, ofType type: String, _ repository: AccountRepository) async throws {
        let storage = repository.storage
        guard let client else { return try await storage.setValue(nil, for: Self.registrationName(type)) }
        var object: JSONObject = ["issuer": .string(client.issuer), "client_id": .string(client.clientID)]
        if let access = client.access {
            object.append("registration_client_uri", .string(access.url.absoluteString))
            object.append("registration_access_token", .string(access.token.value))
        }
        let sealed = try repository.seal.key.seal(
            JSONValue.object(object).serialized(), authenticating: Self.registrationContext(type))
        try await storage.setValue(sealed, for: Self.registrationName(type))
    }

    /// Returns the registration of a type, or `nil` if this store did not register its client.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `damagedRecord`; `StorageError`.
    static func read(ofType type: String, _ repository: AccountRepository) async throws -> RegisteredClient? {
        guard let sealed = try await repository.storage.value(Self.registrationName(type)) else { return nil }
        guard
            let plain = try? repository.seal.key.open(sealed, authenticating: Self.registrationContext(type)),
            let object = (try? JSONValue(parsing: plain))?.object, let issuer = object.text("issuer"),
            let clientID = object.text("client_id")
        else {
            throw AccountStoreError(
                .damagedRecord, what: "cannot read the registration",
                reason: "the record of type \(type) is damaged, or sealed with another key", remedy: .repairStore)
        }
        var access: ClientManagementRequest.Access?
        if let url = object.text("registration_client_uri"), let token = object.text("registration_access_token") {
            access = try ClientManagementRequest.Access(url: url, token: Secret(token), allowsLoopbackHTTP: true)
        }
        return RegisteredClient(issuer: issuer, clientID: clientID, access: access)
    }

    private static func registrationName(_ type: String) -> String { "registration:\(type)" }

    // The type is authenticated: a record that was copied to another type cannot be opened.
    private static func registrationContext(_ type: String) -> [UInt8] { Array("registration-1:\(type)".utf8) }
}
