import Foundation
import LocalProvider
import Testing

@testable import CommandLineKit
@testable import lodge

/// The effect of `--photo FILE` on an existing file.
@MainActor @Suite struct WrittenFileTests {
    private let files = FileManager.default

    private func mode(_ path: String) throws -> Int? {
        try files.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func kind(_ path: String) throws -> FileAttributeType? {
        try files.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    }

    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `a photo keeps the symbolic link and the mode of the file that it replaces`() async throws {
        let terminal = try await signedIn()
        let real = terminal.folder.appending(path: "real.png").path
        let link = terminal.folder.appending(path: "ada.png").path
        try "old".write(toFile: real, atomically: false, encoding: .utf8)
        try #require(chmod(real, 0o640) == 0)
        try files.createSymbolicLink(atPath: link, withDestinationPath: "real.png")
        let answer = await terminal.run("show", "ada@contoso.example", "--photo", link)
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(try kind(link) == .typeSymbolicLink && files.destinationOfSymbolicLink(atPath: link) == "real.png")
        #expect(try mode(real) == 0o640 && files.attributesOfItem(atPath: real)[.size] as? Int ?? 0 > 100)
        let beside = try files.contentsOfDirectory(atPath: terminal.folder.path)
        #expect(!beside.contains { $0.hasSuffix(".new") }, "\(beside)")
        // A symbolic link to a missing file creates the file.
        let late = terminal.folder.appending(path: "late.png").path
        try files.createSymbolicLink(atPath: late, withDestinationPath: "not-yet.png")
        #expect(await terminal.run("show", "ada@contoso.example", "--photo", late).status == 0)
        #expect(try kind(late) == .typeSymbolicLink)
        #expect(try Data(contentsOf: URL(filePath: late)) == Data(contentsOf: URL(filePath: real)))
    }

    @Test func `the name of a photo file is compared with the type that the directory sent`() async throws {
        let terminal = try await signedIn()
        for (name, differs) in [("ada.jpg", true), ("ada.JPEG", true), ("ada.png", false), ("ada", false)] {
            let file = terminal.folder.appending(path: name).path
            let done = await terminal.run("show", "ada@contoso.example", "--photo", file)
            #expect(done.status == 0 && done.errors.contains("The photo (image/png) is in \(file)."), "\(done.errors)")
            #expect(
                done.errors.contains("The directory sent image/png, not image/jpeg") == differs, "\(done.errors)")
        }
    }

    /// Returns the content of a named pipe until its writer closes it.
    private nonisolated static func contents(of pipe: String) -> Data {
        let file = open(pipe, O_RDONLY)
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while case let count = read(file, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
        return Data(bytes)
    }

    @Test func `a photo is written to a named pipe, which remains a pipe`() async throws {
        let terminal = try await signedIn()
        let file = terminal.folder.appending(path: "ada.png").path
        #expect(await terminal.run("show", "ada@contoso.example", "--photo", file).status == 0)
        let pipe = terminal.folder.appending(path: "pipe").path
        try #require(mkfifo(pipe, 0o600) == 0)
        let read = Task.detached { Self.contents(of: pipe) }
        let answer = await terminal.run("show", "ada@contoso.example", "--photo", pipe)
        #expect(answer.status == 0, "\(answer.errors)")
        var status = stat()
        #expect(lstat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
        // Without a writer the reader would wait forever.
        guard status.st_mode & S_IFMT == S_IFIFO, answer.status == 0 else { return }
        #expect(await read.value == (try Data(contentsOf: URL(filePath: file))))
    }

    @Test func `an unwritable path remains unchanged, and the error has the system's reason`() async throws {
        let terminal = try await signedIn()
        let folder = await terminal.run("show", "ada@contoso.example", "--photo", terminal.folder.path)
        #expect(folder.status == 1 && folder.errors.contains("Is a directory"), "\(folder.errors)")
        let missing = await terminal.run("show", "ada@contoso.example", "--photo", terminal.folder.path + "/a/b.png")
        #expect(missing.status == 1 && missing.errors.contains("No such file or directory"), "\(missing.errors)")
        #if os(Linux)
            // A new device node would require privileges. The symbolic link protects /dev/full.
            let full = terminal.folder.appending(path: "full").path
            try files.createSymbolicLink(atPath: full, withDestinationPath: "/dev/full")
            let answer = await terminal.run("show", "ada@contoso.example", "--photo", full)
            #expect(answer.status == 1 && answer.errors.contains("No space left on device"), "\(answer.errors)")
            #expect(try kind(full) == .typeSymbolicLink)
        #endif
        let output = await terminal.run("show", "ada@contoso.example", "--photo", "-")
        #expect(output.status == 2 && output.output.isEmpty && output.errors.contains("--photo"), "\(output.errors)")
    }
}
