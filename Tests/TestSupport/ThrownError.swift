/// Returns the error of this type that a call throws, or `nil` if the call does not throw.
package func thrownError<Failure: Error>(
    _ type: Failure.Type, by body: () async throws -> some Any
) async throws -> Failure? {
    do {
        _ = try await body()
        return nil
    } catch let error as Failure { return error }
}
