import Platform
public import StrictJSON

// Here, because StrictJSON imports nothing, not even Foundation.
extension JSONError: LocalizedError {
    /// The failure in a sentence.
    public var errorDescription: String? { "The text is not valid JSON." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
}
