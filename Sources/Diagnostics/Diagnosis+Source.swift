import LodgePlatform
import OAuth2AccountStore
import OAuth2Protocol

// The source of an application's tokens, and of the assertion of another issuer.
extension Diagnosis {
    /// Returns the findings about the source of a type; empty if it authenticates with a secret or a certificate.
    ///
    /// - Parameter usesNetwork: Whether to send requests and run programs.
    /// - Throws: `CancellationError`. Every other error becomes a finding.
    static func source(
        of type: AccountType, _ dependencies: Dependencies, usesNetwork: Bool
    ) async throws -> [Finding] {
        do {
            if let state = try await type.tokenSourceState(dependencies, usesNetwork: usesNetwork) {
                let finding = Finding(.client, .ok, of: type.name, state.detail)
                guard let date = state.date else { return [finding] }
                return [finding, clock(date.timeIntervalSince(dependencies.now()), of: type)]
            }
            return [try await assertion(of: type, dependencies, usesNetwork: usesNetwork)].compactMap { $0 }
        } catch let error where error.isCancellation {
            throw error
        } catch {
            return [Finding(.client, of: type.name, failing: error)]
        }
    }

    /// Fetches the current assertion of a type and shows the values that the provider compares with the registration of
    /// the application.
    private static func assertion(
        of type: AccountType, _ dependencies: Dependencies, usesNetwork: Bool
    ) async throws -> Finding? {
        guard case .federated(let source)? = type.clientAssertion else { return nil }
        guard let assertion = try await type.federatedAssertion(dependencies, usesNetwork: usesNetwork) else {
            return Finding(.client, .ok, of: type.name, "\(source) returns the JWT; not fetched without the network")
        }
        let now = dependencies.now().timeIntervalSince1970
        if let expiry = assertion.expiry, expiry <= now {
            return Finding(
                .client, .warning, of: type.name, "\(source) returns an expired JWT with \(assertion.summary)",
                remedy: "check the program that replaces it, and this machine's clock")
        }
        return Finding(
            .client, .ok, of: type.name,
            "\(source) returns a JWT with \(assertion.summary), \(assertion.validity(at: now))")
    }
}
