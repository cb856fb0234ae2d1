import OAuth2AccountStore
import StrictJSON
import TestSupport
import Testing

@testable import directory

/// The last step of the table of failures: from the store's error to the exit status and the hint.
struct ExitStatusTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expect: JSONObject
    }

    static let rows: [Row] = {
        let rows = (try? VectorFile.object("failures.json")["rows"]?.array) ?? []
        return rows.compactMap(\.object).map {
            Row(testDescription: $0["id"]?.string ?? "", expect: $0["expect"]?.object ?? [:])
        }
    }()

    private static func kind(_ word: String) -> AccountStoreError.Kind? {
        let parts = word.split(separator: ".").map(String.init)
        switch parts.first {
        case "signInNeeded": return Account.SignInReason(rawValue: parts[1]).map { .signInNeeded($0) }
        case "storage": return StorageError.Kind(rawValue: parts[1]).map { .storage($0) }
        case "settings": return .settings
        case "denied": return .denied
        case "unavailable": return .unavailable
        case "network": return .network
        case "invalidAnswer": return .invalidAnswer
        case "refused": return .refused
        case "key": return .key
        default: return nil
        }
    }

    private static func remedy(_ word: String?) -> AccountStoreError.Remedy? {
        switch word {
        case "retryLater": .retryLater(after: nil)
        case "signInAgain": .signInAgain
        case "changeSettings": .changeSettings
        case "repairStore": .repairStore
        case "askAdministrator": .askAdministrator
        case "nothing": .nothing
        default: nil
        }
    }

    @Test(arguments: rows.filter { $0.expect["kind"] != "none" })
    func `a failure ends the program with its status`(row: Row) throws {
        let kind = try #require(Self.kind(row.expect["kind"]?.string ?? ""))
        let remedy = try #require(Self.remedy(row.expect["remedy"]?.string))
        let error = CommandError(
            reporting: AccountStoreError(kind, what: "it failed", reason: "why", remedy: remedy))
        #expect(Int(error.status.rawValue) == row.expect.int("status"))
        #expect(error.hint?.isEmpty == false || remedy == .nothing)
    }

    @Test func `the table is there`() { #expect(Self.rows.count >= 80) }
}
