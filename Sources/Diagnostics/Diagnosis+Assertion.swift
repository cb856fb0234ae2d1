import LodgePlatform
import OAuth2AccountStore
import OAuth2Protocol

// The assertion of another issuer, which the provider compares with the registration of the application.
extension Diagnosis {
    /// Fetches the current assertion of a type and shows its issuer, subject and audience; `nil` if it needs none.
    static func assertion(of type: AccountType, _ dependencies: Dependencies) async throws -> Finding? {
        guard case .federated(let source)? = type.clientAssertion else { return nil }
        do {
            guard let assertion = try await type.federatedAssertion(dependencies) else { return nil }
            let seconds = assertion.expiry.map { $0 - dependencies.now().timeIntervalSince1970 }
            let validity = seconds.map { "valid for \(Int(min(max($0, 0), 1e9) / 60)) min" } ?? "without an expiry"
            let detail = "\(source) returns a JWT with \(assertion.summary), \(validity)"
            if let seconds, seconds <= 0 {
                return Finding(
                    .client, .warning, of: type.name, "\(source) returns an expired JWT with \(assertion.summary)",
                    remedy: "check the program that replaces it, and this machine's clock")
            }
            return Finding(.client, .ok, of: type.name, detail)
        } catch let error where error.isCancellation {
            throw error
        } catch {
            return Finding(.client, of: type.name, failing: error)
        }
    }
}
