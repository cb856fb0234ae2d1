import AgentProtocol
import CLodgeAgent
import Foundation
import Testing

@testable import LodgeAgent

/// Tests the start of the agent.
@Suite struct AgentProcessTests {
    @Test func `the agent inherits its sockets under their own numbers, because other threads use other numbers`()
        throws
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "l-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        var before = stat()
        fstat(3, &before)
        var options = AgentOptions()
        options.listeners = [
            AgentOptions.Listener(
                descriptor: -1, path: folder.path + "/other.sock", arguments: ["credential", "oidc-agent"])
        ]
        let words = try AgentProcess.prepare(program: "/p", version: "1", options: options) {
            () throws(AgentSocket.Problem) in folder.path + "/agent.sock"
        }
        var after = stat()
        fstat(3, &after)
        #expect(before.st_ino == after.st_ino && before.st_dev == after.st_dev)
        #expect(words.prefix(4) == ["__agent", "/p", "1", folder.path + "/agent.sock"] && words.count == 7)
        let passed = try #require(AgentOptions(words[6]))
        let sockets = [Int32(words[4]) ?? -1, passed.listeners.first?.descriptor ?? -1]
        for socket in sockets {
            #expect(lodge_agent_is_listening(socket) && fcntl(socket, F_GETFD) == 0)
            close(socket)
        }
        let lock = try #require(Int32(words[5]))
        #expect(fcntl(lock, F_GETFD) == 0)
        close(lock)
    }
}
