import Foundation
import CurlHTTP
import HTTPExchange
import Testing

/// Tests the location and permissions of downloads.
@Suite struct `Download locations` {
    let transport = CurlTransport()
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func mode(_ name: String) throws -> Int {
        let all = try FileManager.default.attributesOfItem(atPath: folder.location(name).path(percentEncoded: false))
        return try #require(all[.posixPermissions] as? Int)
    }

    private func set(_ mode: Int, _ name: String) throws {
        try FileManager.default.setAttributes(
            [.posixPermissions: mode], ofItemAtPath: folder.location(name).path(percentEncoded: false))
    }

    private func download(_ server: ScriptedServer, to name: String = "f") async throws -> HTTPDownload {
        try await transport.download(HTTPRequest(.get, server.url()), to: folder.location(name))
    }

    @Test(arguments: [0o600, 0o640, 0o755])
    func `a replaced file keeps its permissions`(mode: Int) async throws {
        let server = try ScriptedServer { _ in answer(body: "new") }
        _ = try folder.file("f", Data("old".utf8))
        try set(mode, "f")
        _ = try await download(server)
        #expect(try self.mode("f") == mode)
        #expect(try Data(contentsOf: folder.location("f")) == Data("new".utf8))
        #expect(folder.names == ["f"])
    }

    @Test func `a new file has the default permissions`() async throws {
        let server = try ScriptedServer { _ in answer(body: "new") }
        _ = try await download(server)
        #expect(FileManager.default.createFile(atPath: folder.location("g").path(percentEncoded: false), contents: nil))
        let descriptor = open(folder.location("h").path(percentEncoded: false), O_CREAT | O_WRONLY, 0o666)
        close(descriptor)
        #expect(try mode("f") == mode("h"))
        #expect(folder.names == ["f", "g", "h"])
    }

    @Test func `a partial file is readable only by its owner`() async throws {
        let server = try ScriptedServer { connection, number in
            _ = connection.readRequest()
            if number == 1 {
                connection.send("HTTP/1.1 200 OK\r\nETag: \"a\"\r\nContent-Length: 9\r\n\r\nabc")
            } else {
                connection.send(answer("404 Not Found"))
            }
        }
        await #expect(throws: HTTPTransportError.self) { try await download(server) }
        #expect(try mode(".f.part") == 0o600)
        try set(0o644, ".f.part")
        #expect(try await download(server).response.status == 404)
        #expect(try mode(".f.part") == 0o600)
    }

    @Test func `a download does not replace a read-only file`() async throws {
        let server = try ScriptedServer { _ in answer(body: "new") }
        _ = try folder.file("f", Data("old".utf8))
        try set(0o400, "f")
        let error = await #expect(throws: HTTPFileError.self) { try await download(server) }
        #expect(error?.reason.contains("is not writable") == true)
        #expect(server.requests.isEmpty)
    }

    @Test func `a download follows a symbolic link to a missing file and keeps the link`() async throws {
        let server = try ScriptedServer { _ in answer(body: "new") }
        func link(_ name: String, _ target: String) throws {
            try FileManager.default.createSymbolicLink(
                atPath: folder.location(name).path(percentEncoded: false), withDestinationPath: target)
        }
        try link("f", "g")
        try link("g", folder.location("real").path(percentEncoded: false))
        _ = try await download(server)
        #expect(try Data(contentsOf: folder.location("real")) == Data("new".utf8))
        #expect(folder.names == ["f", "g", "real"])
        try link("round", "round")
        try link("lost", "no/folder")
        for name in ["round", "lost"] {
            await #expect(throws: HTTPFileError.self) { try await download(server, to: name) }
        }
    }
}
