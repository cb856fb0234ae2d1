import Foundation
import Testing

/// Tests that ARCHITECTURE.md matches the package.
@Suite struct ArchitectureTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// Returns the modules of Sources in the manifest, each with its dependencies on other such modules.
    private func manifest() throws -> [String: Set<String>] {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "Sources").path)
        let target =
            #/\.(?:executableTarget|target)\(\s*name: "(\w+)"(?:,\s*dependencies: \[((?:[^\[\]]|\[[^\]]*\])*)\])?/#
        var modules: [String: Set<String>] = [:]
        for match in try text("Package.swift").matches(of: target) where folders.contains(String(match.1)) {
            let names = (match.2 ?? "").matches(of: #/"(\w+)"/#).map { String($0.1) }
            modules[String(match.1)] = Set(names).intersection(folders).subtracting([
                "CLodgeOpenSSL", "CLodgeSQLite", "CNCurses",
            ])
        }
        return modules
    }

    @Test func `the table of modules lists exactly the dependencies of the manifest`() throws {
        let rows = try text("ARCHITECTURE.md").matches(of: #/\n\| `(\w+)` \|[^|]*\| ([^|]*) \|/#)
        var table: [String: Set<String>] = [:]
        for row in rows { table[String(row.1)] = Set(row.2.matches(of: #/`(\w+)`/#).map { String($0.1) }) }
        let manifest = try manifest()
        #expect(manifest.count > 15)
        #expect(table.keys.sorted() == manifest.keys.sorted())
        for (module, dependencies) in manifest { #expect(table[module] == dependencies, "\(module)") }
    }

    @Test func `each file named in ARCHITECTURE.md exists`() throws {
        let paths = try text("ARCHITECTURE.md").matches(of: #/`((?:Sources|Tests|Settings)\/[^`]+)`/#).map {
            String($0.1)
        }
        #expect(paths.count > 25)
        for path in Set(paths) {
            #expect(FileManager.default.fileExists(atPath: Self.root.appending(path: path).path), "\(path)")
        }
    }

    // Other files call a function of one of these, so that `make apple-check` compiles both branches in few places.
    @Test func `conditions for Apple platforms are in LodgePlatform and in files for a platform`() throws {
        let condition =
            #/#(?:if|elseif) .*(?:canImport\((?:Darwin|Security|CryptoKit|AuthenticationServices|SQLite3)\)|os\((?:macOS|iOS)\))/#
        let sources = Self.root.appending(path: "Sources")
        let names = FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? []
        let files = try names.filter { $0.hasSuffix(".swift") && !$0.hasPrefix("LodgePlatform/") }.filter {
            try text("Sources/" + $0).contains(condition)
        }
        let expected = [
            "AccountKeys/KeychainKey.swift", "AgentProtocol/CLibrary.swift", "AppleSignIn/WebSession.swift",
            "JOSE/Certificate+CryptoKit.swift", "JOSE/Certificate+Libcrypto.swift", "JOSE/Crypto+CryptoKit.swift",
            "JOSE/Crypto+Libcrypto.swift", "JOSE/DeviceKey+Libcrypto.swift", "JOSE/KeyHandle+Libcrypto.swift",
            "JOSE/KeySignature+Libcrypto.swift", "JOSE/PrivateKeyFile+Libcrypto.swift",
            "JOSE/QueuedError+Libcrypto.swift", "OAuth2AccountStore/Environment/SystemTransport.swift",
            "OAuth2AccountStore/Errors/WebSessionError.swift", "SealedStorage/BackupExclusion.swift",
            "SealedStorage/SQLiteConnection.swift", "URLSessionHTTP/SessionIdentity+Security.swift",
            "URLSessionHTTP/SessionIdentity.swift",
        ]
        #expect(files.sorted() == expected)
    }

    @Test func `at most eight files of one folder declare and extend AccountStore`() throws {
        let sources = Self.root.appending(path: "Sources")
        let names = FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? []
        let files = try names.filter { $0.hasSuffix(".swift") }.filter { name in
            let text = try text("Sources/" + name)
            return text.contains("actor AccountStore {") || text.contains("extension AccountStore {")
                || text.contains("extension AccountStore:")
        }
        #expect(!files.isEmpty && files.count <= 8, "\(files)")
        #expect(files.allSatisfy { $0.hasPrefix("OAuth2AccountStore/Store/") }, "\(files)")
    }
}
