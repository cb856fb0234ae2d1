import HTTPExchange
/// The queued requests: in order within an origin, round-robin between origins.
struct RequestQueue {
    private struct Line {
        var submissions: [PendingRequest] = []
        /// The index of the first queued request.
        var first = 0
    }

    private var lines: [String: Line] = [:]
    /// The origins with queued requests, in order of their turns.
    private var turns: [String] = []

    /// The earliest start deadline, or `nil` if the queue is empty.
    var earliestDeadline: ContinuousClock.Instant? {
        lines.values.lazy.compactMap { $0.submissions[$0.first...].lazy.map(\.startDeadline).min() }.min()
    }

    var isEmpty: Bool { turns.isEmpty }

    /// Appends a request to the queue of its origin.
    mutating func append(_ submission: PendingRequest) {
        let origin = submission.origin
        if lines[origin] == nil { turns.append(origin) }
        lines[origin, default: Line()].submissions.append(submission)
    }

    /// Removes and returns the first request of an origin that may start.
    mutating func next(where mayStart: (PendingRequest) -> Bool) -> PendingRequest? {
        let turn = turns.firstIndex { origin in
            lines[origin].map { $0.first < $0.submissions.count && mayStart($0.submissions[$0.first]) } ?? false
        }
        guard let turn else { return nil }
        let origin = turns.remove(at: turn)
        guard let submission = takeFirst(of: origin) else { return nil }
        if lines[origin] != nil { turns.append(origin) }
        return submission
    }

    /// Removes and returns all matching requests.
    mutating func remove(where isLeaving: (PendingRequest) -> Bool) -> [PendingRequest] {
        var removed: [PendingRequest] = []
        for (origin, line) in lines {
            let waiting = line.submissions[line.first...]
            guard waiting.contains(where: isLeaving) else { continue }
            removed.append(contentsOf: waiting.filter(isLeaving))
            let left = waiting.filter { !isLeaving($0) }
            lines[origin] = left.isEmpty ? nil : Line(submissions: left)
        }
        turns.removeAll { lines[$0] == nil }
        return removed
    }

    private mutating func takeFirst(of origin: String) -> PendingRequest? {
        // Removed from the dictionary while it changes, so that its array is not copied.
        guard var line = lines.removeValue(forKey: origin), line.first < line.submissions.count else { return nil }
        let submission = line.submissions[line.first]
        line.first += 1
        // Drop finished entries once they are half of the array, which makes the amortized cost constant.
        if line.first * 2 > line.submissions.count {
            line.submissions.removeFirst(line.first)
            line.first = 0
        }
        if !line.submissions.isEmpty { lines[origin] = line }
        return submission
    }
}
