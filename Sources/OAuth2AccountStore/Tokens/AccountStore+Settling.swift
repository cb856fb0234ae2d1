extension AccountStore {
    /// Waits until no refresh is under way. A program that was told to end calls it before it does: a refresh token that the provider
    /// has rotated but that is not saved yet would be lost with the process.
    public func settle() async {
        // A task of its own, because the one that ends is usually cancelled and could not wait.
        await Task {
            while let flight = flights.values.first ?? further.flights.values.first { _ = try? await flight.value() }
        }.value
    }
}
