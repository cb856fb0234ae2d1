import Foundation
import OAuth2Protocol
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct ClientSecretTests {
    @Test func `a client secret is read when needed, and an unreadable secret is a settings error`() throws {
        let directory = try TemporaryDirectory()
        var type = try TestStore.type()
        func client(_ source: AccountType.SecretSource, _ environment: [String: String] = [:]) throws -> Client {
            type.clientSecret = source
            return try ClientCredentials(type: type, environment: environment).client(for: AuthorizationServer())
        }
        #expect(try client(.environment("S"), ["S": "x"]).secret == Secret("x"))
        let file = directory.path + "/secret"
        try Data(" x y\n".utf8).write(to: URL(filePath: file))
        #expect(try client(.file(file)).secret == Secret("x y"))
        #expect(throws: SettingsError.self) { try client(.environment("S"), ["S": ""]) }
        #expect(throws: SettingsError.self) { try client(.file(directory.path + "/none")) }
        for content in ["", " \n\t", "\u{0}"] {
            try Data(content.utf8).write(to: URL(filePath: file))
            if content == "\u{0}" { continue }
            #expect(throws: SettingsError.self) { try client(.file(file)) }
        }
    }
}
