import LodgePlatform
import Synchronization
import Testing

@testable import lodge

struct EndingSignalStatusTests {
    private final class Observed: Sendable {
        let interruption = Mutex<Interruption?>(nil)
        let statuses = Mutex<[Int32]>([])

        func cancel() {
            let status = interruption.withLock { $0?.status }
            if let status { statuses.withLock { $0.append(status) } }
        }
    }

    @Test(arguments: [(SIGTERM, 143), (SIGHUP, 129), (SIGINT, 130)] as [(Int32, Int32)])
    func `a signal cancels the command, which exits with its status`(signal: Int32, status: Int32) {
        let observed = Observed()
        let interruption = Interruption(stores: OpenStores(), exit: { _ in }) { observed.cancel() }
        observed.interruption.withLock { $0 = interruption }
        interruption.receive(signal)
        #expect(observed.statuses.withLock { $0 } == [status])
    }
}
