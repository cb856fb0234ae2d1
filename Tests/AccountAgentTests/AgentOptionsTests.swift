import AgentProtocol
import Testing

@testable import AccountAgent

/// Tests of what the user can choose: locks, keys, sockets of other programs, files and notifications.
@Suite struct AgentOptionsTests {
    /// Returns a scene with these options.
    private func scene(
        standing: [CommandLineRequest] = [], _ change: (inout AgentOptions) -> Void = { _ in }
    ) -> AgentScene {
        var options = AgentOptions()
        change(&options)
        return AgentScene(options: options, standing: standing)
    }

    private func remember(_ scene: AgentScene, _ words: String...) {
        scene.ask(AgentScene.request(["token"] + words))
        scene.finish(scene.output())
    }

    // MARK: Locks

    @Test func `the agent locks itself after the time without a command`() {
        let scene = scene { $0.lockAfter = 600 }
        remember(scene)
        scene.advance(599)
        scene.ask("token")
        #expect(scene.firstResponse == .output(byteCount: 5))
        scene.advance(599)
        scene.handle(.tick)
        #expect(!scene.state.isLocked)
        #expect(scene.state.nextTick.map { $0 <= scene.now.uptime + 1 } == true)
        scene.advance(1)
        scene.handle(.tick)
        #expect(scene.state.isLocked && scene.effects.contains(.erase(slot: 0)))
        scene.ask("token")
        #expect(scene.firstResponse == .locked)
        #expect(scene.state.nextTick != nil)
        scene.send(AgentRequest.line("unlock"))
        #expect(!scene.state.isLocked)
    }

    @Test func `a refresh without a client does not prevent the lock`() {
        let scene = scene { $0.lockAfter = 3300 }
        remember(scene)
        scene.advance(3540 - 360)
        scene.handle(.tick)
        #expect(scene.started.count == 1)
        scene.finish(scene.output())
        scene.advance(120)
        scene.handle(.tick)
        #expect(scene.state.isLocked)
    }

    @Test func `a suspend locks the agent before the next event if the settings require it`() {
        for locks in [false, true] {
            let scene = scene { $0.locksOnSleep = locks }
            remember(scene)
            scene.advance(60)
            scene.now.asleep += 60
            scene.ask("token")
            #expect(scene.firstResponse == (locks ? .locked : .output(byteCount: 5)))
        }
    }

    @Test func `after a suspend requests go first, and refreshes that were due start within 30 s`() {
        var randoms = [0.1, 0.5, 0.9, 0.2, 0.4, 0.6].makeIterator()
        let scene = AgentScene(random: { randoms.next() ?? 0 })
        for account in ["a", "b", "c"] { remember(scene, "--account", account) }
        scene.advance(30_000)
        scene.now.asleep += 30_000
        scene.ask("token", "--account", "b")
        #expect(scene.firstResponse == .accepted)
        #expect(scene.started.map { $0.client != nil } == [true])
        scene.handle(.tick)
        #expect(scene.started.isEmpty)
        scene.advance(30)
        scene.handle(.tick)
        #expect(scene.started.count == 2)
    }

    // MARK: Keys

    @Test func `new workers get the key of an unlock, and a lock erases it`() {
        let scene = scene()
        scene.ask("me")
        scene.finish(nil)
        let client = scene.send(AgentRequest.unlockLine(store: "s"), descriptors: 1)
        // The idle worker has no key.
        #expect(scene.effects == [.keepKey(client: client, store: "s"), .end(worker: 1), .send(client: client, .done)])
        scene.ask("me")
        #expect(scene.started.map(\.worker) == [2])
        let other = scene.send(AgentRequest.line("lock"))
        #expect(scene.effects == [.eraseKey, .send(client: other, .done)])
    }

    @Test func `a worker that is busy during an unlock runs no other command`() {
        let scene = scene()
        scene.ask("me")
        let run = scene.started[0]
        scene.send(AgentRequest.unlockLine(store: "s"), descriptors: 1)
        scene.handle(.workerSaid(worker: run.worker, .exit(id: run.id, status: 0, output: nil)))
        scene.ask("me")
        #expect(scene.started.map(\.worker) == [2])
    }

    @Test func `an unlock without the descriptor of its key closes the connection`() {
        let scene = scene()
        let client = scene.send(AgentRequest.unlockLine(store: "s"))
        #expect(scene.effects == [.close(client: client)])
        let other = scene.send(AgentRequest.line("unlock"), descriptors: 1)
        #expect(scene.effects == [.close(client: other)])
    }

    // MARK: Sockets of other programs

    private let door = AgentScene.request(["credential", "oidc-agent", "--allow", "1"])

    @Test func `a connection to the socket of another program runs its command line`() {
        let scene = scene()
        scene.send(door.listenLine(path: "/run/forward.sock", until: scene.now.wall + 3600), descriptors: 1)
        guard case .listen(_, let listener, "/run/forward.sock")? = scene.effects.first else {
            Issue.record("\(scene.effects)")
            return
        }
        let client = scene.connect(listener: listener)
        #expect(scene.started.map(\.client) == [client])
        scene.finish(nil)
        // The program gets everything from the command itself.
        #expect(scene.effects == [.close(client: client)])
    }

    @Test func `the socket of another program is closed at its time`() {
        let scene = scene()
        scene.send(door.listenLine(path: "/run/forward.sock", until: scene.now.wall + 3600), descriptors: 1)
        scene.advance(3599)
        scene.handle(.tick)
        #expect(!scene.effects.contains(.closeListener(1)))
        #expect(scene.state.nextTick == scene.now.uptime + 1)
        scene.advance(1)
        #expect(scene.handle(.tick) == [.closeListener(1)])
        let client = scene.connect(listener: 1)
        #expect(scene.effects == [.close(client: client)])
    }

    @Test func `a locked agent serves no other program`() {
        let scene = scene()
        scene.send(door.listenLine(path: "/run/forward.sock", until: scene.now.wall + 3600), descriptors: 1)
        scene.send(AgentRequest.line("lock"))
        let client = scene.connect(listener: 1)
        #expect(scene.effects == [.close(client: client)])
        let other = scene.send(door.listenLine(path: "/run/b.sock", until: scene.now.wall + 3600), descriptors: 1)
        #expect(scene.response(to: other) == .locked)
    }

    @Test func `a socket in the past, without its descriptor, or of another program version is refused`() {
        let scene = scene()
        var client = scene.send(door.listenLine(path: "/a", until: scene.now.wall), descriptors: 1)
        #expect(scene.effects == [.close(client: client)])
        client = scene.send(door.listenLine(path: "/a", until: scene.now.wall + 60))
        #expect(scene.effects == [.close(client: client)])
        var other = door
        other.identity = ProcessIdentity(program: "9", place: "1:2 3:4 5:6")
        client = scene.send(other.listenLine(path: "/a", until: scene.now.wall + 60), descriptors: 1)
        #expect(scene.response(to: client) == .notMine)
    }

    @Test func `at most eight sockets of other programs are open`() {
        let scene = scene()
        for number in 0...AgentLimits.listeners {
            scene.send(door.listenLine(path: "/\(number)", until: scene.now.wall + 60), descriptors: 1)
            let isOpen = scene.effects.contains { if case .listen = $0 { true } else { false } }
            #expect(isOpen == (number < AgentLimits.listeners))
        }
    }

    // MARK: Files

    private let files = AgentScene.request(["credential", "files"])

    @Test func `the agent writes the token files when it starts, before they expire, and after an unlock`() {
        let scene = scene(standing: [files]) { $0.files = ["/run/token"] }
        scene.handle(.tick)
        #expect(scene.started.map(\.client) == [nil])
        scene.finish(scene.output(lifetime: 1800, margin: 0))
        #expect(scene.state.nextTick == scene.now.uptime + AgentLimits.idleWorker)
        for _ in 0..<60 {
            scene.advance(1800 - 180)
            scene.handle(.tick)
            #expect(scene.started.count == 1)
            scene.finish(scene.output(lifetime: 1800, margin: 0))
        }
        scene.send(AgentRequest.line("lock"))
        #expect(scene.effects.contains(.removeFiles))
        scene.send(AgentRequest.line("unlock"))
        scene.handle(.tick)
        #expect(scene.started.count == 1)
    }

    @Test func `a client that writes the token files gets no remembered output`() {
        let scene = scene(standing: [files]) { $0.files = ["/run/token"] }
        scene.handle(.tick)
        scene.finish(scene.output())
        scene.ask(files)
        #expect(scene.firstResponse == .accepted)
    }

    @Test func `token files whose account needs a sign-in are tried again`() {
        let scene = scene(standing: [files]) { $0.files = ["/run/token"] }
        scene.handle(.tick)
        scene.finish(nil, status: 4)
        #expect(scene.state.nextTick.map { $0 <= scene.now.uptime + 30 } == true)
    }

    @Test func `the files are removed when the agent ends`() {
        let scene = scene(standing: [files]) { $0.files = ["/run/token"] }
        #expect(scene.handle(.end) == [.removeFiles, .exit])
    }

    // MARK: Notifications

    @Test func `a refresh that needs a sign-in shows one notification until the account is signed in`() {
        let scene = scene()
        remember(scene)
        scene.ask("token", "--header")
        scene.finish(scene.output())
        let expected = AgentEffect.notify(type: "graph", account: "ada", environment: ["HOME=/home/ada"])
        scene.advance(3540 - 360)
        scene.handle(.tick)
        var shown = 0
        for run in scene.started {
            scene.handle(.workerSaid(worker: run.worker, .exit(id: run.id, status: 4, output: nil)))
            shown += scene.effects.count { $0 == expected }
        }
        #expect(shown == 1)
        // The user signs in, and the sign-in is lost again.
        scene.advance(400)
        remember(scene)
        scene.advance(3540 - 360)
        scene.handle(.tick)
        scene.finish(nil, status: 4)
        #expect(scene.effects.contains(expected))
    }

    @Test func `a refresh that fails for another reason, or whose client waits, shows no notification`() {
        let scene = scene()
        remember(scene)
        scene.advance(3540 - 360)
        scene.handle(.tick)
        scene.finish(nil, status: 7)
        #expect(!scene.effects.contains { if case .notify = $0 { true } else { false } })
        scene.advance(3600)
        scene.ask("token")
        scene.finish(nil, status: 4)
        #expect(!scene.effects.contains { if case .notify = $0 { true } else { false } })
    }
}
