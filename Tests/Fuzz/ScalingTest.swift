import Foundation

/// Enlarges inputs from 16 KB to 1 MB, and compares the processor time of each reader.
struct ScalingTest {
    let readers: [FuzzReader]

    /// The sizes, in bytes.
    private static let sizes = [14, 17, 20].map { 1 << $0 }
    /// How much longer an input of 64 times the size may take: 64 with a linear reader, 4096 with a quadratic one.
    private static let maximumGrowth = 64.0 * 3
    /// Times below this have only noise, in seconds.
    private static let minimumTime = 0.0005
    /// The maximum time of one input in seconds.
    private static let maximumTime = 20.0

    /// Returns whether all readers take linear time.
    func run() -> Bool {
        var isLinear = true
        for reader in readers {
            for (index, shape) in reader.shapes.enumerated() where !isLinearTime(reader, shape, index) {
                isLinear = false
            }
        }
        return isLinear
    }

    private func isLinearTime(_ reader: FuzzReader, _ shape: FuzzReader.Shape, _ index: Int) -> Bool {
        var times: [Double] = []
        for size in Self.sizes {
            let input = shape.input(of: size)
            times.append(time { reader.read(input) })
            guard times[times.count - 1] > Self.maximumTime else { continue }
            return report(reader, shape, index, times, isLinear: false)
        }
        let last = times[times.count - 1]
        let growth = last / max(times[0], Self.minimumTime)
        let isLinear = last <= Self.minimumTime * 64 || growth <= Self.maximumGrowth
        return report(reader, shape, index, times, isLinear: isLinear)
    }

    private func report(
        _ reader: FuzzReader, _ shape: FuzzReader.Shape, _ index: Int, _ times: [Double], isLinear: Bool
    ) -> Bool {
        let text = times.map { String(format: "%.1f", $0 * 1000) }.joined(separator: " ")
        if !isLinear || CommandLine.arguments.contains("--verbose") {
            let part = String((shape.head + shape.unit).prefix(60)).debugDescription
            print(
                "\(isLinear ? "linear" : "NOT LINEAR") \(reader.name) \(index) \(part): \(text) ms for 16 KB, 128 KB and 1 MB"
            )
        }
        return isLinear
    }

    /// Returns the shortest processor time of several runs: another process may slow one down.
    private func time(_ body: () -> Void) -> Double {
        var shortest = Double.infinity
        var total = 0.0
        for _ in 0..<5 {
            let start = clock()
            body()
            let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
            shortest = min(shortest, seconds)
            total += seconds
            if total > 0.1 { break }
        }
        return shortest
    }
}
