/// The expected value of a measurement relative to its peer.
enum Goal {
    /// At most this multiple of the peer's value: for costs.
    case atMost(Double)
    /// At least this multiple of the peer's value: for rates.
    case atLeast(Double)
    /// An absolute minimum, for a measurement without a comparable peer.
    case oursAtLeast(Double)
    /// An absolute maximum.
    case oursAtMost(Double)
    /// An exact value.
    case oursExactly(Double)
    /// No goal.
    case none

    func isReached(ours: Double, ratio: Double) -> Bool? {
        switch self {
        case .atMost(let limit): ratio <= limit
        case .atLeast(let limit): ratio >= limit
        case .oursAtLeast(let limit): ours >= limit
        case .oursAtMost(let limit): ours <= limit
        case .oursExactly(let number): ours == number
        case .none: nil
        }
    }

    var text: String {
        switch self {
        case .atMost(let limit): "goal <= \(decimal(limit, 2))"
        case .atLeast(let limit): "goal >= \(decimal(limit, 2))"
        case .oursAtLeast(let limit): "goal ours >= \(decimal(limit, 0))"
        case .oursAtMost(let limit): "goal ours <= \(decimal(limit, 0))"
        case .oursExactly(let number): "goal ours = \(decimal(number, 0))"
        case .none: "no goal"
        }
    }
}

/// A line of the results: our value next to a named peer's, measured alternately in the same run.
struct Figure {
    var name: String
    var unit: String
    /// The number of decimal places.
    var digits = 2
    var ours: Samples
    var peerName: String
    var peer: Samples
    var goal: Goal

    /// The ratios of neighboring samples: a temporary slowdown of the machine affects both samples of a pair.
    var ratio: Samples { Samples(zip(ours.values, peer.values).map { $1 > 0 ? $0 / $1 : .infinity }) }

    var line: String {
        let verdict =
            switch goal.isReached(ours: ours.median, ratio: ratio.median) {
            case true?: "reached"
            case false?: "not reached"
            case nil: "-"
            }
        return "\(name): ours \(shown(ours)) \(unit), \(peerName) \(shown(peer)) \(unit), "
            + "ratio \(decimal(ratio.median, 2)) (\(decimal(ratio.least, 2))-\(decimal(ratio.greatest, 2))), "
            + "\(goal.text), \(verdict)"
    }

    private func shown(_ samples: Samples) -> String {
        "\(decimal(samples.median, digits)) (\(decimal(samples.least, digits))-\(decimal(samples.greatest, digits)))"
    }
}

/// Repeated measurements.
struct Samples {
    var values: [Double]

    init(_ values: [Double] = []) { self.values = values }

    /// The median, or NaN without samples.
    var median: Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
    var least: Double { values.min() ?? .nan }
    var greatest: Double { values.max() ?? .nan }
}

/// Formats a number with this many decimal places.
func decimal(_ value: Double, _ digits: Int) -> String {
    guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let scaled = Int64((abs(value) * scale).rounded())
    let whole = String(scaled / Int64(scale))
    let sign = value < 0 && scaled > 0 ? "-" : ""
    guard digits > 0 else { return sign + whole }
    let rest = String(scaled % Int64(scale))
    return sign + whole + "." + String(repeating: "0", count: digits - rest.count) + rest
}
