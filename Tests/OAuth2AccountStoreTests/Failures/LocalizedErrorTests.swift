import AccountKeys
import Foundation
import HTTPExchange
import JOSE
import LoopbackHTTP
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage
import StrictJSON
import Testing

@testable import OAuth2AccountStore

/// The sentences of errors that an alert shows.
struct LocalizedErrorTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL

    private static let errors: [any LocalizedError] = [
        AccountStoreError(
            .network, what: "cannot sign in", reason: "no response", remedy: .retryLater(after: .seconds(7))),
        BrowserError(description: "xdg-open cannot be started"),
        SettingsError(file: "settings.json", key: "types.graph.clientId", expected: "a string", found: "a number"),
        HTTPFileError(path: "/a", reason: "no such file"),
        HTTPTransportError(.timedOut, host: "id.example", reason: "no response within 30 s"),
        StorageError(.full, location: "/a/accounts.sqlite", reason: "no space left", hint: "free some space"),
        KeyCustodyError(location: "key file /a", reason: "other users can read it", hint: "run: chmod 600 '/a'"),
        LoopbackError.portTaken(7777), JOSEError.signature, RedirectError.stateMismatch, IDTokenError.signature,
        OAuth2Error.http(status: 503, retryAfter: .seconds(9)), OAuth2Error.configuration("no issuer"),
        ProviderError(code: .accessDenied),
    ]

    @Test(arguments: errors.indices)
    func `an error has a failure and a reason in sentences`(index: Int) throws {
        let error = Self.errors[index]
        for text in [error.errorDescription, error.failureReason] {
            let text = try #require(text)
            // Names keep their spelling.
            let isName = ["settings.json", "id.example", "xdg-open"].contains { text.hasPrefix($0) }
            #expect(text.first?.isLowercase == false || isName)
            #expect(text.hasSuffix(".") && !text.hasSuffix(".."))
        }
        #expect(error.localizedDescription == error.errorDescription)
        if let recovery = error.recoverySuggestion { #expect(recovery.first?.isUppercase == true) }
    }

    @Test func `an account store's error has its task, its reason and its remedy`() {
        var error = AccountStoreError(
            .network, what: "cannot sign in", reason: "id.example: no\u{1B}[31m response",
            remedy: .retryLater(after: .seconds(7)))
        #expect(error.errorDescription == "Cannot sign in.")
        #expect(error.failureReason == #"id.example: no\u{1B}[31m response."#)
        #expect(error.recoverySuggestion == "Try again in 7 seconds.")
        let unavailable = OAuth2Error.http(status: 503, retryAfter: .milliseconds(8_100))
        #expect(unavailable.recoverySuggestion == "Try again in 9 seconds.")
        error.remedy = .signInAgain
        #expect(error.recoverySuggestion == "Sign in again.")
        error.hint = "to continue, \(AccountRemedy.signIn(type: "graph"))"
        #expect(error.recoverySuggestion == "To continue, sign in to graph.")
        error.what = "sign-in needed"
        #expect(error.errorDescription == "Sign-in needed.")
        error.hint = nil
        error.remedy = .nothing
        #expect(error.recoverySuggestion == nil)
    }

    @Test func `a command at the end of a remedy has no full stop`() {
        let error = StorageError(.insecure, location: "/a", reason: "mode 755", hint: "run: chmod 700 '/a'")
        #expect(error.recoverySuggestion == "Run: chmod 700 '/a'")
    }

    @Test func `every public error type conforms to LocalizedError`() throws {
        let sources = Self.root.appending(path: "Sources")
        var types: Set<String> = [], localized: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: sources.path) where path.hasSuffix(".swift") {
            guard !path.hasPrefix("lodge/") else { continue }
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            for match in text.matches(of: /public (?:struct|enum|final class) (\w+): (?:Swift\.)?Error\b/) {
                types.insert(String(match.1))
            }
            for match in text.matches(of: /extension (?:\w+\.)?(\w+): LocalizedError/) {
                localized.insert(String(match.1))
            }
        }
        #expect(types.count > 15)
        #expect(types.subtracting(localized) == [])
    }

    @Test(arguments: [
        (
            "Sources/OAuth2AccountStore/Errors/AccountStoreError.swift",
            "OAuth2AccountStore/OAuth2AccountStore.docc/HandlingErrors"
        ),
        (
            "Sources/HTTPExchange/Values/HTTPTransportError.swift",
            "OAuth2AccountStore/OAuth2AccountStore.docc/HandlingErrors"
        ),
        ("Sources/SealedStorage/StorageError.swift", "OAuth2AccountStore/OAuth2AccountStore.docc/HandlingErrors"),
        ("Sources/DirectorySearch/Errors/DirectoryError.swift", "DirectorySearch/DirectorySearch.docc/DirectorySearch"),
    ])
    func `the documentation has the reaction to every kind of error`(source: String, article: String) throws {
        let text = try String(contentsOf: Self.root.appending(path: source), encoding: .utf8)
        let start = try #require(text.range(of: "enum Kind"))
        let kinds = text[start.upperBound...].prefix { $0 != "}" }
        let cases = kinds.matches(of: /\n +case (\w+)/).map { String($0.1) }
        #expect(cases.count > 5)
        let table = try String(contentsOf: Self.root.appending(path: "Sources/\(article).md"), encoding: .utf8)
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| `") }
        for name in cases {
            #expect(rows.contains { $0.split(separator: "|").first?.contains("`\(name)`") == true }, "\(name)")
        }
    }
}
