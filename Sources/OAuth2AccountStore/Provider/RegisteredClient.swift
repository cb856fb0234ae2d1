import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// A client that was registered dynamically for one account type: what is needed to manage it later.
///
/// [RFC 7592 section 3](https://www.rfc-editor.org/rfc/rfc7592#section-3)
public struct RegisteredClient: Sendable, Equatable {
    /// The issuer that registered it. The client is good there only.
    public let issuer: String
    /// The client identifier.
    public let clientID: String
    /// Where it is managed, and the token for that; nil when the provider does not offer it.
    public let access: ClientManagementRequest.Access?

    /// A client.
    public init(issuer: String, clientID: String, access: ClientManagementRequest.Access?) {
        self.issuer = issuer
        self.clientID = clientID
        self.access = access
    }
}

extension RegisteredClient: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The client identifier and the issuer; no token.
    public var description: String { "the client \(clientID.debugDescription) of \(issuer)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The same as ``description``.
    public var customMirror: Mirror { Mirror(self, children: ["client": description]) }
}

extension AccountStore {
    /// Keeps what a registration gave, sealed like the accounts are; nil forgets it.
    ///
    /// - Throws: ``AccountStoreError`` when it cannot be saved; then the registration should be deleted at the provider, or
    ///   its client identifier noted down.
    public func keepRegistration(_ client: RegisteredClient?, ofType type: String) async throws {
        try await failing("cannot keep the registration") {
            guard let client else { return try await storage.setValue(nil, for: Self.registrationName(type)) }
            var object: JSONObject = ["issuer": .string(client.issuer), "client_id": .string(client.clientID)]
            if let access = client.access {
                object.append("registration_client_uri", .string(access.url.absoluteString))
                object.append("registration_access_token", .string(access.token.value))
            }
            let sealed = try seal.key.seal(
                JSONValue.object(object).serialized(), authenticating: Self.registrationContext(type))
            try await storage.setValue(sealed, for: Self.registrationName(type))
        }
    }

    /// What the registration of a type's client gave; nil when it was not registered by this store.
    ///
    /// - Throws: ``AccountStoreError``, also when the record's seal is broken.
    public func registration(ofType type: String) async throws -> RegisteredClient? {
        try await failing("cannot read the registration") {
            guard let sealed = try await storage.value(Self.registrationName(type)) else { return nil }
            guard
                let plain = try? seal.key.open(sealed, authenticating: Self.registrationContext(type)),
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
    }

    private static func registrationName(_ type: String) -> String { "registration:\(type)" }

    // The type is bound: a record that is copied to another type does not open.
    private static func registrationContext(_ type: String) -> [UInt8] { Array("registration-1:\(type)".utf8) }
}
