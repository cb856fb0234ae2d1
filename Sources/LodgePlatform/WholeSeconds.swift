extension Duration {
    /// The number of whole seconds, rounded up, for messages and for protocols that have no fractions.
    package var wholeSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
    }
}
