/// What decides: told what happened, it says what is to be done and what is to be seen. A value, so that it can be another one in a test.
protocol BrowseBehaviour: Sendable {
    /// Tells what happened, with the time since the start, and gives what is to be done.
    mutating func handle(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect]
    /// What is to be seen now.
    func screen() -> Screen
}

extension BrowseModel: BrowseBehaviour {}
