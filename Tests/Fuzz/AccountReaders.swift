import JOSE
@testable import OAuth2AccountStore
import LodgePlatform
import SealedStorage
import StrictJSON

let accountReaders = [
    FuzzReader(
        "account-file",
        [
            .init("{\"access_token\":\"", "a", "\"}"),
            .init("[", "{\"accountType\":\"a\",\"accessToken\":{\"accessToken\":\"b\"}},", "{}]"),
            .init("{\"accounts\":{", "\"a\":{\"accountType\":\"a\"},", "\"b\":{}}}"),
            .init("{", "\"a\":{\"accountType\":\"a\"},", "\"b\":1}"),
            .init(
                "{\"format\":\"oauth2-accounts\",\"version\":1,\"accounts\":[",
                "{\"type\":\"a\",\"accessToken\":\"b\"},", "{}]}"),
            .init("{\"access_token\":\"a\",\"scope\":\"", "a ", "\"}"),
            .init("{\"access_token\":\"a\",\"scope\":[", "\"a\",", "\"b\"]}"),
            .init(
                "{\"AccessToken\":{},\"RefreshToken\":{", "\"a\":{\"secret\":\"b\",\"home_account_id\":\"h\"},",
                "\"b\":{}}}"),
            .init(
                "{\"AccessToken\":{",
                "\"a\":{\"secret\":\"b\",\"home_account_id\":\"h\",\"client_id\":\"c\",\"environment\":\"e\"},",
                "\"c\":{\"secret\":\"b\"}}}"),
            .init("{\"access_token\":\"a\",\"id_token\":\"a.", "e30", ".a\"}"),
            .init(
                "{\"AccessToken\":{",
                "\"a%N\":{\"secret\":\"b\",\"home_account_id\":\"h\",\"client_id\":\"c%N\"},\"b%N\":"
                    + "{\"secret\":\"b\",\"home_account_id\":\"h\"},", "\"c\":{\"secret\":\"b\"}}}"),
            .init("{", "\"a%N\":{\"accountType\":\"a\"},", "\"b\":{\"accountType\":\"a\"}}"),
            .init("account \"a\" {", "client_id = \"b\";", "}"), .init("account \"", "\\\"", "\" { }"),
            .init("account \"a\" { scopes = [", "\"b\",", "]; }"),
            .init("", "account \"a\" { token_uri = \"b\"; } // c\n", ""),
            .init("services:\n", " a%N:\n  client_id: b\n", ""),
            .init("services:\n a:\n  auth_scope: >-\n", "   b\n", ""), .init("services:\n a:\n  client_id: ", "b ", ""),
        ], readAccountFile),
    FuzzReader(
        "record", [.init("{\"id\":\"", "a", "\"}"), .init("", "["), .init("{", "\"a\":1,", "\"b\":2}")], readRecord),
]

private func readAccountFile(_ bytes: [UInt8]) {
    do throws(AccountFileError) {
        let file = try AccountFile(parsing: bytes, source: "f")
        require(file.entries.count <= AccountFile.maximumCount, "the number of accounts has a limit")
        for entry in file.entries {
            for token in [entry.tokens.accessToken, entry.tokens.refreshToken].compactMap(\.self) {
                require(token.value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a token is printable")
            }
            _ = entry.tokens.dated(Date(timeIntervalSince1970: 1_800_000_000))
        }
        for client in file.clients { require(!client.settings.contains("\n"), "the line for the settings is one line") }
        require("\(file)".utf8.count < 200, "the description has no contents")
    } catch {
        require("\(error)".utf8.count < 500, "an error does not quote the file")
    }
}

private let seal = (try? SealingKey([UInt8](repeating: 9, count: 32))).map(RecordSeal.init)

/// Reads the bytes as the contents of a record with an intact seal, and as a sealed record.
private func readRecord(_ bytes: [UInt8]) {
    guard let seal else { return }
    require(seal.open(SealedRecord(id: "a", type: "t", revision: 1, sealed: bytes)) == nil, "no other bytes open")
    let context = Array("account-1:1:a:1:t:1".utf8)
    guard bytes.count <= 1 << 20, let sealed = try? seal.key.seal(bytes, authenticating: context) else { return }
    if let record = seal.open(SealedRecord(id: "a", type: "t", revision: 1, sealed: sealed)) {
        guard let again = try? seal.seal(record, revision: 2) else { return }
        require(seal.open(again) == record, "a saved record is read unchanged")
    }
}
