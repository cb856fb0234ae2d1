import OAuth2Protocol
import LodgePlatform
import TestSupport
import Testing

@testable import ProviderSettings

/// The access of other users to settings and their secrets.
struct FileAccessTests {
    private static let json =
        #"{"types":{"t":{"issuer":"https://id.example","clientId":"c","clientSecret":"s3cr3t","#
        + #""redirectUri":"http://127.0.0.1/callback","scopes":["openid"]}}}"#

    private func write(_ directory: TemporaryDirectory, _ name: String = "settings.json", mode: mode_t) throws -> String
    {
        let path = directory.path + "/" + name
        try Self.json.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, mode) == 0)
        return path
    }

    private func error(_ path: String) -> SettingsError? {
        do throws(SettingsError) {
            _ = try Settings(contentsOf: URL(filePath: path))
            return nil
        } catch {
            return error
        }
    }

    @Test func `settings that other users can change are rejected with the chmod command`() throws {
        let directory = try TemporaryDirectory()
        let path = try write(directory, mode: 0o666)
        let failure = try #require(error(path))
        #expect(failure.found == "all users can write to it")
        #expect(failure.hint == "if the settings are right, run: chmod o-w \(path)")
        for mode in [0o600, 0o640, 0o644, 0o400] as [mode_t] {
            #expect(chmod(path, mode) == 0)
            #expect(error(path) == nil)
        }
    }

    @Test func `settings in a folder that all users can write are rejected, even through symbolic links`() throws {
        let directory = try TemporaryDirectory()
        let open = directory.path + "/" + "open", closed = try write(directory, mode: 0o600)
        #expect(mkdir(open, 0o700) == 0)
        let inside = try write(directory, "open/settings.json", mode: 0o600)
        #expect(symlink(closed, open + "/link") == 0)
        #expect(symlink("open/settings.json", directory.path + "/" + "relative") == 0)
        #expect(symlink("open", directory.path + "/" + "folder") == 0)
        #expect(symlink("open/link", directory.path + "/" + "chain") == 0)
        let paths = [
            inside, open + "/link", directory.path + "/" + "relative",
            directory.path + "/" + "folder/settings.json",
            directory.path + "/" + "chain",
        ]
        for path in paths { #expect(error(path) == nil) }
        #expect(chmod(open, 0o777) == 0)
        for path in paths {
            #expect(error(path)?.found.contains("can write to its folder") == true, "\(path)")
            #expect(error(path)?.hint?.description.contains("chmod o-w ") == true, "\(path)")
        }
        #expect(chmod(open, 0o1777) == 0)
        for path in paths { #expect(error(path) == nil) }
    }

    @Test(
        arguments: [
            (1000, 1000, 0o600, nil), (1000, 1000, 0o664, nil), (0, 0, 0o664, nil), (0, 1000, 0o664, nil),
            (1001, 1000, 0o600, "belongs to the user"), (1000, 1001, 0o664, "the group"), (1000, 1001, 0o644, nil),
            (1000, 1000, 0o602, "all users can write"), (1001, 1001, 0o666, "belongs to the user"),
        ] as [(uid_t, gid_t, mode_t, String?)])
    func `owner, group and mode determine who can change a file`(
        owner: uid_t, group: gid_t, mode: mode_t, reason: String?
    ) {
        var status = stat()
        status.st_uid = owner
        status.st_gid = group
        status.st_mode = S_IFREG | mode
        let problem = FileAccess(user: 1000) { 1000 }.problem(of: status, at: "/f")
        #expect((problem == nil) == (reason == nil))
        if let reason { #expect(problem?.reason.contains(reason) == true) }
        if reason == "the group" { #expect(problem?.command == "chmod g-w /f") }
    }

    @Test func `a secret that other users can read is reported with the chmod command`() throws {
        let directory = try TemporaryDirectory()
        let folder = directory.path + "/" + "folder"
        #expect(mkdir(folder, 0o700) == 0)
        let path = try write(directory, "folder/settings.json", mode: 0o644)
        let settings = try Settings(contentsOf: URL(filePath: path))
        // In a folder that others cannot enter, the mode of the file does not matter.
        #expect(settings.exposedSecrets(of: settings.types).isEmpty)
        #expect(chmod(folder, 0o711) == 0)
        #expect(chmod(OwnerOnlyFile.directory(of: folder), 0o711) == 0)
        let found = settings.exposedSecrets(of: settings.types)
        #expect(found.map(\.key) == ["clientSecret"] && found.first?.type == "t")
        #expect(found.first?.problem.command == "chmod o-r \(path)")
        #expect(chmod(path, 0o600) == 0)
        #expect(settings.exposedSecrets(of: settings.types).isEmpty)
    }
}
