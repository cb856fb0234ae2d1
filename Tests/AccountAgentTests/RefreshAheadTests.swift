import AgentProtocol
import Testing

@testable import AccountAgent

/// Tests of the refreshes ahead of time, with a simulated store and provider.
@Suite struct RefreshAheadTests {
    @Test func `a token is refreshed before callers would wait, and only while a client uses it`() {
        let scene = AgentScene()
        scene.ask("token")
        scene.finish(scene.output())
        #expect(scene.state.nextTick.map { $0 <= 1000 + 60 } == true)
        scene.advance(3540 - 360)
        scene.handle(.tick)
        // A refresh must replace a token that expires in seven minutes.
        #expect(scene.started.map(\.validity) == [421])
        scene.finish(scene.output())
        scene.advance(3000)
        scene.ask("token")
        #expect(scene.firstResponse == .output(byteCount: 5))

        for _ in 0..<40 {
            scene.advance(3540)
            scene.handle(.tick)
            scene.finish(scene.output())
        }
        #expect(scene.started.isEmpty)
        scene.advance(600)
        #expect(scene.handle(.tick).isEmpty)
        #expect(scene.state.nextTick == nil)
    }

    @Test func `failed refreshes are repeated after 30 s, doubling to 15 minutes`() {
        let scene = AgentScene()
        scene.ask("token")
        scene.finish(scene.output())
        scene.advance(3540 - 360)
        var delays: [Double] = []
        for _ in 0..<8 {
            scene.handle(.tick)
            #expect(scene.started.count == 1)
            scene.finish(nil, status: 7)
            let next = scene.state.nextTick ?? 0
            let due = max(next, 0)
            // An idle worker can end first.
            let delay = [30.0, 60, 120, 240, 480, 900, 900, 900][delays.count]
            delays.append(delay)
            #expect(due <= scene.now.uptime + delay)
            scene.advance(delay - 1)
            #expect(scene.handle(.tick).allSatisfy { if case .run = $0 { false } else { true } })
            scene.advance(1)
        }
        #expect(delays.count == 8)
    }

    @Test func `a provider that returns the same token gets the next request after 30 s`() {
        let scene = AgentScene()
        scene.ask("token")
        let first = scene.output()
        scene.finish(first)
        scene.advance(3540 - 360)
        scene.handle(.tick)
        scene.finish(first)
        scene.handle(.tick)
        #expect(scene.started.isEmpty)
        scene.advance(30)
        scene.handle(.tick)
        #expect(scene.started.count == 1)
    }

    @Test func `a refresh that is due waits for a free worker without waking the agent`() {
        let scene = AgentScene()
        scene.ask("token")
        scene.finish(scene.output())
        var runs: [(worker: Int, id: Int64)] = []
        for number in 0..<AgentLimits.workers {
            scene.ask("search", "\(number)")
            runs += scene.started.map { ($0.worker, $0.id) }
        }
        scene.advance(3540 - 360)
        scene.handle(.tick)
        #expect(scene.started.isEmpty)
        #expect(scene.state.nextTick == nil)
        scene.handle(.workerSaid(worker: runs[0].worker, .exit(id: runs[0].id, status: 0, output: nil)))
        #expect(scene.state.nextTick.map { $0 <= scene.now.uptime } == true)
        scene.handle(.tick)
        #expect(scene.started.map(\.worker) == [runs[0].worker])
    }

    @Test func `the time that the provider asks for has precedence`() {
        let scene = AgentScene()
        scene.ask("token")
        var output = scene.output(lifetime: 86_400)
        output.refreshTime = scene.now.wall + 43_200
        scene.finish(output)
        scene.advance(43_199)
        scene.handle(.tick)
        #expect(scene.started.isEmpty)
        scene.advance(1)
        scene.handle(.tick)
        #expect(scene.started.count == 1)
    }

    // The accounts are in one store, whose change counter every refresh raises.
    @Test func `24 hours with 50 accounts and two outages: no caller waits while the provider responds`() {
        var seed: UInt64 = 7
        func random() -> Double {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(seed >> 11) / Double(1 << 53)
        }
        let scene = AgentScene(random: random)
        let lifetimes = (0..<50).map { [60.0, 300, 3600, 5400, 28_800, 86_400][$0 % 6] }
        let start = scene.now.wall
        // The store: the expiry of each account's token.
        var expiries = lifetimes.map { _ in 0.0 }
        var refreshes = 0
        var waits = 0
        var counter: UInt64 = 0
        func isUp() -> Bool {
            let hour = (scene.now.wall - start) / 3600
            return !(6..<6.5).contains(hour) && !(15..<17).contains(hour)
        }
        var outageEnds = 0.0
        func margin(_ account: Int) -> Double { min(60, lifetimes[account] / 5) }
        /// Runs the commands that the last event started, as the store does.
        func work(_ account: (Int64, Int?) -> Int, client: Bool) {
            var pending = scene.started
            while let run = pending.popLast() {
                let account = account(run.id, run.client)
                let left = expiries[account] - scene.now.wall
                let stamp = scene.stamp("/store")
                var status: Int32 = 0
                if left <= max(margin(account), run.validity ?? 0) {
                    if client, isUp(), expiries[account] > 0, scene.now.wall > outageEnds { waits += 1 }
                    if isUp() {
                        refreshes += 1
                        counter += 1
                        scene.files["/store"] = counter
                        expiries[account] = scene.now.wall + lifetimes[account]
                    } else {
                        status = 7
                    }
                }
                let output = RememberedOutput(
                    byteCount: 5, validUntil: expiries[account] - margin(account), expiry: expiries[account],
                    lifetime: lifetimes[account], account: "\(account)", type: "t", files: [stamp])
                scene.handle(
                    .workerSaid(
                        worker: run.worker, .exit(id: run.id, status: status, output: status == 0 ? output : nil)))
                pending += scene.started
            }
        }
        func account(ofLine effects: [AgentEffect], _ id: Int64) -> Int {
            for case .run(_, .run(id, _, _, _), let line, _) in effects {
                if let number = CommandLineRequest(line: line)?.arguments.last.flatMap({ Int($0) }) { return number }
            }
            return 0
        }
        func perform(client: Bool) {
            var seen = scene.effects
            work(
                { id, _ in
                    seen += scene.effects
                    return account(ofLine: seen, id)
                }, client: client)
        }
        while scene.now.wall < start + 86_400 {
            let client = scene.ask("token", "--account", "\(Int(random() * 50))")
            perform(client: true)
            scene.handle(.disconnected(client: client))
            // All ticks up to the next request, ten seconds later.
            let end = scene.now.uptime + 10
            while let next = scene.state.nextTick, next <= end {
                scene.advance(max(0, next - scene.now.uptime))
                scene.handle(.tick)
                perform(client: false)
            }
            scene.advance(max(0, end - scene.now.uptime))
            // The backoff of a refresh that failed before the end of an outage lasts at most 15 minutes.
            if !isUp() { outageEnds = scene.now.wall + 900 * 1.25 + 10 }
        }
        // The fewest refreshes: each token is replaced when callers would start to wait.
        let minimum = lifetimes.indices.reduce(0.0) { $0 + 86_400 / (lifetimes[$1] - margin($1)) }
        #expect(waits == 0)
        #expect(Double(refreshes) <= 1.2 * minimum + 50)
        #expect(Double(refreshes) >= 0.8 * minimum)
    }
}
