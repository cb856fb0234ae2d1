import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

@Suite struct SettingsEditTests {
    private static let type: JSONObject = ["issuer": "https://id.example", "clientId": "c"]

    private func object(_ bytes: [UInt8]) throws -> JSONObject {
        try #require(
            try JSONValue(parsing: bytes, options: .init(allowsComments: true, rejectsDuplicates: true)).object)
    }

    static let texts = [
        #"{"types": {}}"#, #"{"types":{"a":{}}}"#, "{\r\n  \"types\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
        "\u{FEFF}{\"types\": {\"a\": {\"x\": [1, {\"y\": \"}\"}], \"z\": null}}, \"n\": -1.5e3, \"t\": true}",
        "{ // one }\n \"x\": \"/* no comment \\\" */\", \"types\" /* two */ : /* three { */ { // four\n \"a\" : { } // five\n } // six\n }",
        "{\"types\": {\"a\": {\"types\": {\"b\": 1}}, /* } */ \"b\\u0063\": {} /* , */ }, \"defaultType\": \"a\"}",
        "{\"types\":\n{\n\"a\": {},\n// about b\n\"b\": {} }\n}",
    ]

    @Test(arguments: texts)
    func `adding and removing changes one member and no other byte that counts`(text: String) throws {
        let before = try object(Array(text.utf8))
        let added = try SettingsEdit.adding("new", Self.type, to: Array(text.utf8), file: "f")
        var expected = before
        var types = try #require(before["types"]?.object)
        types.append("new", .object(Self.type))
        expected["types"] = .object(types)
        #expect(try object(added) == expected)
        // Every byte of the old text is still there, in order.
        var rest = added[...]
        for byte in text.utf8 {
            let location = try #require(rest.firstIndex(of: byte), "lost a byte of the old text")
            rest = rest[(location + 1)...]
        }
        let removed = try SettingsEdit.removing("new", from: added, file: "f")
        #expect(try object(removed) == before)
        for comment in ["// one }", "/* two */", "// five", "// six", "/* } */", "// about b"]
        where text.contains(comment) {
            #expect(String(decoding: removed, as: UTF8.self).contains(comment))
        }
        for member in before["types"]?.object?.members ?? [] {
            let less = try object(try SettingsEdit.removing(member.name, from: Array(text.utf8), file: "f"))
            #expect(
                less["types"]?.object?.members.map(\.name)
                    == types.members.map(\.name).filter { ![member.name, "new"].contains($0) })
            #expect(
                (less["defaultType"] == nil)
                    == (before["defaultType"] == nil || before["defaultType"]?.string == member.name))
        }
    }

    @Test(arguments: [
        "", "{", "[]", "{}", #"{"types": []}"#, #"{"types": {}, "types": {}}"#, "<plist/>", #"{"clientId": "a"}"#,
    ])
    func `a file that is not nested settings is refused`(text: String) {
        #expect(throws: SettingsError.self) { try SettingsEdit.adding("a", Self.type, to: Array(text.utf8), file: "f") }
        #expect(throws: SettingsError.self) { try SettingsEdit.removing("a", from: Array(text.utf8), file: "f") }
    }

    @Test func `a file is written whole, keeps its mode and its link, and is private when it holds a secret`()
        async throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        let real = folder.appending(path: "real.json").path
        let link = folder.appending(path: "settings.json").path
        try "one".write(toFile: real, atomically: false, encoding: .utf8)
        try #require(chmod(real, 0o640) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
        try await change(link) { _ in .text(Array("two".utf8), holdsSecret: false) }
        #expect(try String(contentsOfFile: real, encoding: .utf8) == "two")
        #expect(try mode(real) == 0o640)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == real)
        try await change(link) { _ in .text(Array("three".utf8), holdsSecret: true) }
        #expect(try mode(real) == 0o600)
        let new = folder.appending(path: "a/b/settings.json").path
        try await change(new) { old in
            #expect(old == nil)
            return .text(Array("new".utf8), holdsSecret: false)
        }
        #expect(try mode(new) == 0o600 && mode(folder.appending(path: "a").path) == 0o700)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == [
                "a", "real.json", "settings.json",
            ])
    }

    private func change(
        _ path: String, _ edit: @escaping @Sendable ([UInt8]?) async throws -> SettingsEdit.Outcome
    ) async throws {
        try await SettingsEdit.change(
            path, suffix: UUID().uuidString, sleep: { try await Task.sleep(for: $0) }, by: edit)
    }

    @Test func `of many changes at once none is lost`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "settings.json").path
        let link = folder.appending(path: "link/settings.json").path
        try FileManager.default.createDirectory(
            at: folder.appending(path: "link"), withIntermediateDirectories: true)
        let names = (0..<24).map { "type\($0)" }
        for (half, location) in [(names[..<12], path), (names[12...], link)] {
            if location == link {
                try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            }
            try await withThrowingTaskGroup { group in
                for (number, name) in half.enumerated() {
                    group.addTask {
                        try await change(number.isMultiple(of: 2) ? path : location) { old in
                            // Others have their turn between the reading and the writing.
                            for _ in 0..<10 { await Task.yield() }
                            return .text(
                                try SettingsEdit.adding(name, Self.type, to: old, file: path), holdsSecret: false)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        let bytes = try #require(try SettingsEdit.read(path))
        let types = try #require(try JSONValue(parsing: bytes).object?["types"]?.object)
        #expect(Set(types.members.map(\.name)) == Set(names))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["link", "settings.json"])
    }

    @Test func `an edit begins anew when a program without the lock was quicker, a few times`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "settings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "settings.json").path
        try "0".write(toFile: path, atomically: false, encoding: .utf8)
        try await change(path) { old in
            // An editor, once.
            if old == Array("0".utf8) { try "1".write(toFile: path, atomically: false, encoding: .utf8) }
            return .text((old ?? []) + Array("+".utf8), holdsSecret: false)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "1+")
        let error = await #expect(throws: SettingsError.self) {
            try await change(path) { old in
                try ((old ?? []) + [0x2E]).withUnsafeBytes { try Data($0).write(to: URL(filePath: path)) }
                return .text([], holdsSecret: false)
            }
        }
        #expect(error?.found == "another text" && error?.hint?.description.contains("try again") == true)
        #expect(try String(contentsOfFile: path, encoding: .utf8).hasPrefix("1+."))
        // Gone, made in between, and a link that leads nowhere.
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "nowhere")
        let link = await #expect(throws: SettingsError.self) {
            try await change(path) { _ in .text([0x7B], holdsSecret: false) }
        }
        #expect(link?.found == "a link that leads to no file")
    }
}

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

    @Test func `what a registration gave is sealed, found again and forgotten`() async throws {
        let (storage, key) = (MemoryStorage(), try MemoryKey())
        let registration = try ClientRegistration.read(answer(201, registered))
        let client = RegisteredClient(
            issuer: "https://id.example", clientID: registration.clientID, access: registration.access)
        let store = try await store(storage, key)
        #expect(try await store.registration(ofType: "mine") == nil)
        try await store.keepRegistration(client, ofType: "mine")
        #expect(try await self.store(storage, key).registration(ofType: "mine") == client)
        let sealed = try #require(await storage.value("registration:mine"))
        #expect(Data(sealed).range(of: Data("reg-1".utf8)) == nil && Data(sealed).range(of: Data("s6".utf8)) == nil)
        // A record copied to another type does not open.
        await storage.setValue(sealed, for: "registration:other")
        let error = await #expect(throws: AccountStoreError.self) { try await store.registration(ofType: "other") }
        #expect(error?.kind == .damagedRecord)
        try await store.keepRegistration(nil, ofType: "mine")
        #expect(try await store.registration(ofType: "mine") == nil)
    }

    @Test func `a registration is read, replaced and deleted with its own token`() throws {
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

    @Test func `a deletion is only done when the provider says so`() throws {
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

    @Test func `no token is shown`() throws {
        let registration = try ClientRegistration.read(answer(201, registered))
        let client = RegisteredClient(issuer: "https://id.example", clientID: "s6", access: registration.access)
        var text = ""
        dump(client, to: &text)
        dump(try #require(registration.access), to: &text)
        text += "\(client) \(String(reflecting: client)) \(String(reflecting: registration.access))"
        #expect(!text.contains("reg-1"))
    }
}
