import HTTPExchange
import OAuth2AccountStore
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// The last step of the failure table: from the store's error to the exit status and the hint.
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
    func `each failure has its exit status`(row: Row) throws {
        let kind = try #require(Self.kind(row.expect["kind"]?.string ?? ""))
        let remedy = try #require(Self.remedy(row.expect["remedy"]?.string))
        let error = CommandError(
            reporting: AccountStoreError(kind, what: "it failed", reason: "why", remedy: remedy))
        #expect(Int(error.status.rawValue) == row.expect.int("status"))
        #expect(error.hint?.description.isEmpty == false || remedy == .nothing)
    }

    @Test(arguments: [
        (HTTPTransportError.Kind.redirectRefused, 7, "no response from the network"),
        (.responseTooLarge, 1, "cannot use the response"), (.other, 1, "the request failed"),
        (.invalidRequest, 8, "cannot send the request"), (.plainHTTPRefused, 8, "cannot send the request"),
        (.timedOut, 7, "no response from the network"), (.connectionLost, 7, "no response from the network"),
    ])
    func `a network error is reported only if no response arrived`(
        kind: HTTPTransportError.Kind, status: Int32, message: String
    ) {
        let error = CommandError(reporting: HTTPTransportError(kind, host: "a.example", reason: "Why."))
        #expect(error.status.rawValue == status && error.message == message && error.hint != nil)
    }

    @Test(arguments: [(429, 6), (502, 6), (503, 6), (504, 6), (500, 1), (404, 3)]) @MainActor
    func `a throttled or unavailable service has status 6`(answer: Int, status: Int32) throws {
        let response = HTTPStreamedResponse(
            status: answer, fields: [:], body: HTTPResponseBody { nil })
        #expect(CommandError(answering: response, account: nil)?.status.rawValue == status)
    }

    @Test func `the failure table has at least 80 rows`() { #expect(Self.rows.count >= 80) }
}
