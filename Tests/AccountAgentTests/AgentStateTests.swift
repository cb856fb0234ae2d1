import AgentProtocol
import StrictJSON
import Testing

@testable import AccountAgent

@Suite struct AgentStateTests {
    let scene = AgentScene()

    /// Returns the first response to a command line that a scene has just sent.
    private func answer(_ client: Int, _ other: AgentScene? = nil) -> AgentResponse? { (other ?? scene).firstResponse }

    /// Lets the agent remember the output of `token`.
    private func remember(_ output: RememberedOutput? = nil) {
        scene.ask("token")
        scene.finish(output ?? scene.output())
    }

    @Test func `a command runs in a worker, and its output is remembered`() {
        let first = scene.ask("token")
        #expect(scene.firstResponse == .accepted)
        #expect(scene.started.map(\.client) == [first])
        scene.finish(scene.output())
        #expect(scene.effects.contains(.keep(worker: 1, slot: 0)))
        #expect(answer(scene.ask("token")) == .output(byteCount: 5))
    }

    @Test func `another command line, environment or folder has its own output`() {
        remember()
        #expect(answer(scene.ask("token", "--header")) == .accepted)
        let other = scene.ask("token", environment: ["HOME=/home/ada", "LODGE_ACCOUNT=bob"])
        #expect(answer(other) == .accepted)
        #expect(
            answer(scene.ask("token", environment: ["HOME=/home/ada", "SHLVL=2"])) == .output(byteCount: 5))
        for arguments in [["token"], ["token", "--store", "accounts"]] {
            var request = AgentScene.request(arguments)
            let key = request.outputKey(AgentScene.rule)
            request.folder = "/tmp"
            #expect((request.outputKey(AgentScene.rule) == key) == (arguments.count == 1))
        }
    }

    @Test func `another process reads its own output after a change of the store`() {
        remember()
        scene.files["/store"] = 1
        #expect(answer(scene.ask("token")) == .accepted)
    }

    @Test func `a command that changed the store itself runs once more without a client`() {
        scene.ask("token")
        let output = scene.output()
        scene.files["/store"] = 1
        scene.finish(output)
        #expect(!scene.effects.contains { if case .keep = $0 { true } else { false } })
        scene.handle(.tick)
        #expect(scene.started.map(\.client) == [nil])
        #expect(scene.started.map(\.validity) == [nil])
        scene.finish(scene.output())
        #expect(answer(scene.ask("token")) == .output(byteCount: 5))
        #expect(answer(scene.ask("token")) == .output(byteCount: 5))
    }

    @Test func `an output is not used after its time, nor after the clock was set`() {
        remember()
        scene.advance(3539)
        #expect(answer(scene.ask("token")) == .output(byteCount: 5))
        scene.advance(1)
        #expect(answer(scene.ask("token")) == .accepted)

        let other = AgentScene()
        other.ask("token")
        other.finish(other.output())
        other.now.wall -= 3600
        #expect(answer(other.ask("token"), other) == .accepted)
    }

    @Test func `a request of another program, place or protocol is not the agent's`() {
        for (program, place) in [("9:9:9", "1:2 3:4 5:6"), ("1:2:3", "9:9 3:4 5:6"), ("1:2:3", "1:2 3:4 9:9")] {
            var request = AgentScene.request(["token"])
            request.identity = ProcessIdentity(program: program, place: place)
            #expect(answer(scene.ask(request)) == .notMine)
        }
        // The worker compares the current folder.
        var request = AgentScene.request(["token"])
        request.identity = ProcessIdentity(program: "1:2:3", place: "1:2 9:9 5:6")
        #expect(answer(scene.ask(request)) == .accepted)
        let client = scene.connect()
        scene.handle(.line(client: client, Array(#"{"protocol":2,"ask":"status"}"#.utf8), descriptorCount: 0))
        #expect(scene.effects == [.close(client: client)])
    }

    @Test func `a client that does not send its streams is closed`() {
        for count in [0, 3] {
            let client = scene.connect()
            let line = AgentScene.request(["search", "ada"]).line.dropLast()
            scene.handle(.line(client: client, Array(line), descriptorCount: 0))
            #expect(scene.response(to: client) == .accepted)
            scene.handle(.line(client: client, AgentRequest.streamsLine.dropLast(), descriptorCount: count))
            #expect(scene.effects == [.close(client: client)])
        }
        let client = scene.connect()
        scene.handle(.line(client: client, AgentScene.request(["me"]).line.dropLast(), descriptorCount: 0))
        scene.advance(2)
        #expect(scene.handle(.tick) == [.close(client: client)])
    }

    @Test func `a process of another user gets no byte`() {
        scene.handle(.connected(client: 7, user: 0))
        #expect(scene.effects == [.close(client: 7)])
        scene.handle(.connected(client: 8, user: -1))
        #expect(scene.effects == [.close(client: 8)])
    }

    @Test(arguments: [
        "", "token", "[]", "{}", #"{"protocol":1}"#, #"{"protocol":1,"ask":"token"}"#, #"{"signal":15}"#,
        #"{"protocol":1,"ask":"run","arguments":["a\u0000b"]}"#, #"{"ask":"status"}"#,
        #"{"protocol":1,"protocol":1,"ask":"status"}"#,
    ]) func `an invalid first line closes the connection`(line: String) {
        let client = scene.connect()
        scene.handle(.line(client: client, Array(line.utf8), descriptorCount: 0))
        #expect(scene.effects == [.close(client: client)])
    }

    @Test func `a nesting of 10,000 levels is rejected`() {
        let client = scene.connect()
        let line = [UInt8](repeating: UInt8(ascii: "["), count: 10_000)
        scene.handle(.line(client: client, line, descriptorCount: 0))
        #expect(scene.effects == [.close(client: client)])
    }

    @Test func `a connection without a message is closed after two seconds`() {
        let client = scene.connect()
        #expect(scene.state.nextTick == 1002)
        scene.advance(1.9)
        #expect(scene.handle(.tick) == [])
        scene.advance(0.1)
        #expect(scene.handle(.tick) == [.close(client: client)])
    }

    @Test func `at most 64 connections are accepted`() {
        let clients = (0..<AgentLimits.connections).map { _ in scene.connect() }
        #expect(!scene.state.acceptsConnections)
        scene.handle(.disconnected(client: clients[0]))
        #expect(scene.state.acceptsConnections)
    }

    @Test func `four workers run commands, and the fifth client waits for the first that finishes`() {
        var workers: [Int] = []
        for number in 0..<4 {
            scene.ask("search", "\(number)")
            workers += scene.started.map(\.worker)
        }
        #expect(Set(workers).count == AgentLimits.workers)
        let fifth = scene.ask("search", "5")
        #expect(scene.started.isEmpty)
        scene.handle(.workerSaid(worker: workers[2], .exit(id: 3, status: 0, output: nil)))
        #expect(scene.started.map(\.worker) == [workers[2]])
        #expect(scene.started.map(\.client) == [fifth])
    }

    @Test func `a client does the work itself if no worker is free for a second`() {
        for number in 0..<4 { scene.ask("search", "\(number)") }
        let fifth = scene.ask("token")
        #expect(scene.state.nextTick == scene.now.uptime + AgentLimits.freeWorker)
        scene.advance(AgentLimits.freeWorker)
        #expect(scene.handle(.tick) == [.close(client: fifth)])
    }

    @Test func `a worker is used again only for the same variables of system libraries`() {
        scene.ask("me")
        scene.finish(nil)
        scene.ask("me", environment: ["HOME=/home/ada", "LODGE_OUTPUT=json"])
        #expect(scene.started.map(\.worker) == [1])
        scene.finish(nil)
        scene.ask("me", environment: ["HOME=/home/ada", "https_proxy=http://127.0.0.1:1"])
        #expect(scene.started.map(\.worker) == [2])
    }

    @Test func `a worker ends after five minutes without a request`() {
        scene.ask("me")
        scene.finish(nil)
        scene.advance(AgentLimits.idleWorker - 1)
        scene.handle(.tick)
        #expect(!scene.effects.contains(.end(worker: 1)))
        scene.advance(1)
        #expect(scene.handle(.tick).contains(.end(worker: 1)))
        #expect(scene.state.nextTick == nil)
    }

    @Test func `a signal of the client reaches the command`() {
        let client = scene.ask("search", "ada")
        scene.handle(.line(client: client, Array(#"{"signal":2}"#.utf8), descriptorCount: 0))
        #expect(scene.effects == [.signal(worker: 1, .signal(id: 1, number: 2))])
    }

    @Test func `a client that leaves ends its command, and no client gets its response`() {
        let client = scene.ask("search", "ada")
        scene.handle(.disconnected(client: client))
        // The second signal ends a command that waits for a reader of its output.
        let signal = AgentEffect.signal(worker: 1, .signal(id: 1, number: 15))
        #expect(scene.effects == [signal, signal, .close(client: client)])
        scene.handle(.workerSaid(worker: 1, .exit(id: 1, status: 143, output: nil)))
        #expect(scene.effects.isEmpty)
    }

    @Test func `a client whose worker dies gets no response`() {
        let client = scene.ask("token")
        scene.handle(.workerEnded(worker: 1))
        #expect(scene.effects == [.close(client: client)])
        scene.ask("token")
        #expect(scene.started.map(\.worker) == [2])
    }

    @Test func `a lock erases all outputs, ends the workers and refuses commands`() {
        remember()
        let client = scene.connect()
        scene.handle(.line(client: client, AgentRequest.line("lock"), descriptorCount: 0))
        #expect(scene.effects == [.erase(slot: 0), .end(worker: 1), .send(client: client, .done)])
        #expect(answer(scene.ask("token")) == .locked)
        scene.handle(.line(client: client, AgentRequest.line("unlock"), descriptorCount: 0))
        #expect(answer(scene.ask("token")) == .accepted)
    }

    @Test func `a command that finishes after a lock leaves no output`() {
        scene.ask("token")
        let run = scene.started[0]
        let other = scene.connect()
        scene.handle(.line(client: other, AgentRequest.line("lock"), descriptorCount: 0))
        scene.handle(.workerSaid(worker: run.worker, .exit(id: run.id, status: 0, output: scene.output())))
        #expect(scene.effects == [.end(worker: run.worker)])
    }

    @Test func `after an upgrade the agent finishes the running commands and ends`() {
        scene.ask("search", "ada")
        let run = scene.started[0]
        scene.isReplaced = true
        #expect(answer(scene.ask("token")) == .notMine)
        #expect(!scene.effects.contains(.exit))
        scene.handle(.workerSaid(worker: run.worker, .exit(id: run.id, status: 0, output: nil)))
        #expect(scene.effects == [.exit])
    }

    @Test func `stop ends the agent and erases its outputs`() {
        remember()
        let client = scene.connect()
        scene.handle(.line(client: client, AgentRequest.line("stop"), descriptorCount: 0))
        #expect(scene.effects == [.send(client: client, .done), .erase(slot: 0), .exit])
    }

    @Test func `status lists the accounts without their tokens`() {
        remember()
        scene.ask("token")
        let client = scene.connect()
        scene.handle(.line(client: client, AgentRequest.line("status"), descriptorCount: 0))
        guard case .status(let status)? = scene.response(to: client),
            let output = status["outputs"]?.array?.first?.object
        else {
            Issue.record("\(scene.effects)")
            return
        }
        #expect(output["account"]?.string == "ada")
        #expect(output["state"]?.string == "fresh")
        #expect(output["requests"]?.number?.int64 == 2)
        #expect(output["due"] == .integer(1_800_003_180))
    }
}
