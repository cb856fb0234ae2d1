import OAuth2AccountStore
import LodgePlatform
import HTTPExchange
import OAuth2Protocol

// The checks over the network.
extension Diagnosis {
    /// Checks a provider's metadata, certificate and clock.
    static func provider(_ type: AccountType, _ dependencies: Dependencies) async throws -> [Finding] {
        let source = try await source(of: type, dependencies, usesNetwork: true)
        // The token endpoint of a registered client has no role for another source of tokens.
        guard !type.grant.usesTokenSource else { return source }
        return try await addingIssuer(to: try await responses(type, dependencies), of: type, dependencies) + source
    }

    private static func responses(_ type: AccountType, _ dependencies: Dependencies) async throws -> [Finding] {
        switch type.provider {
        case .endpoints, .staticToken: return try await connection(type, dependencies)
        case .issuer, .authority: break
        }
        let report = try await ProviderReport.check(type, dependencies: dependencies, checksSource: false)
        if let failure = report.failure {
            let check: Check = failure.kind == .network ? .network : .discovery
            return [Finding(check, .problem, of: type.name, failure.reason, remedy: remedy(failure), failure: failure)]
        }
        var findings = [Finding(.network, .ok, of: type.name, "the provider responds")]
        // The clock has a separate finding: a wrong clock does not prevent sign-ins. The client has one too, because
        // the user can correct it.
        let problems = report.problems.filter { $0.subject != "clock" && $0.subject != "client" }
        for problem in problems {
            let reason = problem.detail.isEmpty ? problem.subject : "\(problem.subject): \(problem.detail)"
            let failure = AccountStoreError(
                .refused, what: "the provider does not fit", reason: reason, remedy: .changeSettings,
                hint: "\(AccountRemedy.checkProvider(type: type.name))")
            findings.append(Finding(.discovery, .problem, of: type.name, reason, failure: failure))
        }
        if problems.isEmpty {
            findings.append(Finding(.discovery, .ok, of: type.name, report.server?.issuer ?? "valid"))
        }
        findings += report.findings.filter { $0.subject == "client" }.map { client($0, of: type) }
        findings.append(clock(report.clockSkew, of: type))
        return findings
    }

    /// Checks a provider without discovery, or the service of a type without a provider.
    ///
    /// Any response suffices and contains the time.
    private static func connection(_ type: AccountType, _ dependencies: Dependencies) async throws -> [Finding] {
        let hasProvider = type.provider != .staticToken
        guard let url = type.origin else {
            let failure = AccountStoreError(
                .settings, what: "there is no token endpoint", reason: "the settings do not set a token endpoint",
                remedy: .changeSettings, hint: "name tokenEndpoint or issuer in the settings of \(type.name)")
            return [Finding(.discovery, .problem, of: type.name, failure.reason, failure: failure)]
        }
        do {
            let response = try await dependencies.transport(for: type).send(HTTPRequest(.get, url))
            let date = response.fields["Date"].flatMap(HTTPDate.parse)
            var findings = [
                Finding(.network, .ok, of: type.name, hasProvider ? "the provider responds" : "the service responds"),
                Finding(
                    .discovery, .ok, of: type.name,
                    hasProvider ? "the settings name the endpoints" : "no provider: you supply the token"),
                clock(date?.timeIntervalSince(dependencies.now()), of: type),
            ]
            if hasProvider {
                let server = try await ProviderReport.server(of: type, dependencies: dependencies)
                findings.append(
                    client(
                        try await ProviderReport.client(of: type, at: server, dependencies: dependencies), of: type))
            }
            return findings
        } catch let error where error.isCancellation {
            throw error
        } catch {
            var finding = Finding(.network, of: type.name, failing: error)
            finding.remedy = finding.failure.flatMap(remedy)
            return [finding]
        }
    }

    private static func client(_ finding: ProviderReport.Finding, of type: AccountType) -> Finding {
        guard finding.state == .problem else { return Finding(.client, .ok, of: type.name, finding.detail) }
        let failure = AccountStoreError(
            .settings, what: "cannot sign in", reason: finding.detail, remedy: .changeSettings, hint: finding.remedy)
        return Finding(.client, .problem, of: type.name, finding.detail, failure: failure)
    }

    static func clock(_ seconds: Double?, of type: AccountType) -> Finding {
        guard let seconds else { return Finding(.clock, .ok, of: type.name, "the provider sends no date") }
        // The date has a precision of seconds, and the response took time.
        let skew = ClockSkew(seconds: abs(seconds) < 5 ? 0 : seconds)
        guard skew.isNotable else { return Finding(.clock, .ok, of: type.name, skew.explanation) }
        return Finding(
            .clock, .warning, of: type.name, skew.explanation + "; sign-ins still work",
            remedy: "set this machine's clock: timedatectl set-ntp true")
    }

    private static func remedy(_ failure: AccountStoreError) -> Hint? {
        failure.hint ?? (failure.kind == .network ? "check the network, and the address in the settings" : nil)
    }
}
