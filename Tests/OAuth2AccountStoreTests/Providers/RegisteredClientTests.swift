import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct RegisteredClientTests {
    private func answer(_ status: Int, _ text: String = "") -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    private let registered = """
        {"client_id": "s6", "registration_client_uri": "https://id.example/register/s6",
        "registration_access_token": "reg-1", "client_id_issued_at": 1, "redirect_uris": ["http://127.0.0.1/callback"]}
        """

    private func store(_ storage: MemoryStorage, _ key: MemoryKey) async throws -> AccountStore {
        var type = AccountType(
            name: "mine", provider: .issuer("https://id.example"), clientID: "c",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: [])
        type.preset = nil
        return try await AccountStore(settings: Settings(types: [type]), storage: storage, custody: key)
    }

    @Test func `a client registration is saved encrypted, loaded and removed`() async throws {
        let (storage, key) = (MemoryStorage(), try MemoryKey())
        let registration = try ClientRegistration.read(answer(201, registered))
        let client = RegisteredClient(
            issuer: "https://id.example", clientID: registration.clientID, access: registration.access)
        let store = try await store(storage, key)
        #expect(try await store.registration(ofType: "mine") == nil)
        try await store.keepRegistration(client, ofType: "mine")
        #expect(try await self.store(storage, key).registration(ofType: "mine") == client)
        let sealed = try #require(await storage.value("registration:mine"))
        #expect(Data(sealed).range(of: Data("reg-1".utf8)) == nil && Data(sealed).range(of: Data(#""s6""#.utf8)) == nil)
        // A record copied to another type does not open.
        await storage.setValue(sealed, for: "registration:other")
        let error = await #expect(throws: AccountStoreError.self) { try await store.registration(ofType: "other") }
        #expect(error?.kind == .damagedRecord)
        try await store.keepRegistration(nil, ofType: "mine")
        #expect(try await store.registration(ofType: "mine") == nil)
    }

    @Test func `a registration is read, replaced and deleted with its registration access token`() throws {
        let registration = try ClientRegistration.read(answer(201, registered))
        let access = try #require(registration.access)
        let read = ClientManagementRequest.read(access).request
        #expect(read.method == .get && read.url.absoluteString == "https://id.example/register/s6")
        #expect(read.fields["Authorization"] == "Bearer reg-1" && read.redirects == .none)
        let replace = try ClientManagementRequest.replace(
            registration, with: ["client_name": "x", "registration_access_token": "no", "client_id": "other"]
        ).request
        #expect(replace.method == .put && replace.fields["Content-Type"] == "application/json")
        #expect(try JSONValue(parsing: replace.body ?? Data()) == ["client_name": "x", "client_id": "s6"])
        let delete = ClientManagementRequest.delete(access).request
        #expect(delete.method == .delete && delete.body == nil)
        let changed = try ClientRegistration.read(
            answer(200, registered.replacingOccurrences(of: "reg-1", with: "reg-2")), of: "s6")
        #expect(changed.managementToken == Secret("reg-2"))
        #expect(throws: OAuth2Error.self) { try ClientRegistration.read(answer(200, registered), of: "s7") }
    }

    @Test func `a deletion succeeds only if the provider confirms it`() throws {
        try ClientManagementRequest.readDeletion(answer(204))
        try ClientManagementRequest.readDeletion(answer(200))
        for status in [302, 400, 401, 403, 405, 500] {
            #expect(throws: OAuth2Error.self) { try ClientManagementRequest.readDeletion(answer(status)) }
            #expect(ClientManagementRequest.isAlreadyGone(answer(status)) == (status == 401))
        }
        #expect(throws: OAuth2Error.self) {
            try ClientManagementRequest.Access(url: "http://id.example/register/s6", token: Secret("reg-1"))
        }
        let unmanaged = try ClientRegistration.read(answer(201, #"{"client_id": "s6"}"#))
        #expect(unmanaged.access == nil)
        #expect(throws: OAuth2Error.self) { try ClientManagementRequest.replace(unmanaged, with: [:]) }
    }

    @Test func `the description of a registration contains no token`() throws {
        let registration = try ClientRegistration.read(answer(201, registered))
        let client = RegisteredClient(issuer: "https://id.example", clientID: "s6", access: registration.access)
        var text = ""
        dump(client, to: &text)
        dump(try #require(registration.access), to: &text)
        text += "\(client) \(String(reflecting: client)) \(String(reflecting: registration.access))"
        #expect(!text.contains("reg-1"))
    }
}
